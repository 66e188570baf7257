/**
 * Runs one command of the built command line after another, each as `dist/cli/main.js` would. Loading a command takes a quarter of a second of
 * processor time, and `run` twice as much; with a process for each command the suite spent a third of its time on that.
 */

import { asUncaught, asUserError, failureText } from '../../dist/cli/failure.js'
import { buildProgram } from '../../dist/cli/program.js'
import { styleFor } from '../../dist/cli/terminal/style.js'
import { isCaught } from '../../dist/uncaught.js'

const exit = process.exit.bind(process)
const env = { ...process.env }
let printed = { stdout: [], stderr: [] }
for (const name of ['stdout', 'stderr']) {
  process[name].write = (chunk, ...rest) => {
    printed[name].push(Buffer.from(chunk))
    rest.findLast((given) => typeof given === 'function')?.()
    return true
  }
}

function fail(thrown, args) {
  const json = args.includes('--json') || process.env.SHOAL_JSON === 'true'
  const debug = args.join(' ').match(/--log-level[ =]debug/) !== null
  process.stderr.write(failureText(thrown, { json, debug, style: styleFor(process.stderr, process.env) }))
  process.exitCode ||= asUserError(thrown).exitCode
}

/** `last`: this process ends with the command. */
function answer(last, then = () => {}) {
  const text = (chunks) => Buffer.concat(chunks).toString()
  const result = {
    code: Number(process.exitCode ?? 0),
    signal: null,
    stdout: text(printed.stdout),
    stderr: text(printed.stderr),
  }
  process.send({ last, result }, then)
}

let current = []
process.exit = (code = process.exitCode) => {
  process.exitCode = code
  answer(true, () => exit(0))
}
process.on('uncaughtException', (thrown) => {
  if (isCaught(thrown)) return
  fail(asUncaught(thrown), current)
  process.exit()
})

// The test file has ended, however it ended.
process.on('disconnect', () => exit(0))

process.on('message', async (command) => {
  const { args } = command
  current = args
  printed = { stdout: [], stderr: [] }
  process.exitCode = undefined
  process.chdir(command.cwd)
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env, command.env)
  try {
    const program = await buildProgram(args)
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
  } catch (thrown) {
    if (thrown.exitCode !== 0) fail(thrown, args)
  }
  answer(false)
})
