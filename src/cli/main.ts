import { CommanderError } from 'commander'
import { EXIT } from '../errors.js'
import { refuseToEndForSpider } from '../run/refuse-to-end.js'
import { isCaught } from '../uncaught.js'
import { asUncaught, asUserError, failureText } from './failure.js'
import { brokenOutput, flushed } from './output.js'
import { buildProgram } from './program.js'
import { captureSpiderOutput } from './spider-output.js'
import { stderr, stdout } from './terminal/streams.js'
import { styleFor } from './terminal/style.js'

const given = process.argv.slice(2)
const args = given.length === 0 ? ['--help'] : given
const json = args.includes('--json') || (process.env.SHOAL_JSON ?? '') === 'true'
const debug =
  args.join(' ').includes('--log-level debug') ||
  args.includes('--log-level=debug') ||
  process.env.SHOAL_LOG_LEVEL === 'debug'

const output = captureSpiderOutput(json)
// A spider or config file that ends the process would look like a command that has succeeded.
refuseToEndForSpider()

function fail(thrown: unknown): void {
  stderr.write(failureText(thrown, { json, debug, style: styleFor(stderr, process.env) }))
  process.exitCode ||= asUserError(thrown).exitCode
}

stdout.on('error', (error: NodeJS.ErrnoException) => {
  const broken = brokenOutput(error)
  if (broken === null) process.exit(EXIT.ok.code)
  fail(broken)
  process.exit()
})
// Progress and log lines that nobody can read, on a full disk or a closed pipe, are no reason to end a crawl.
stderr.on('error', () => {})

process.on('uncaughtException', (thrown: unknown) => {
  if (isCaught(thrown)) return
  fail(asUncaught(thrown))
  process.exit()
})

try {
  const program = await buildProgram(args)
  await program.parseAsync(args, { from: 'user' })
} catch (thrown) {
  // --help and --version end as errors with code 0.
  if (!(thrown instanceof CommanderError && thrown.exitCode === 0)) fail(thrown)
}
output.end()
await flushed()
process.exit()
