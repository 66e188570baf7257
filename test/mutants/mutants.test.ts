import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { MUTANTS } from './mutants.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** In a process of its own: it opens another Vitest, which must not find the traces of this one. */
it('notices every bug of one line', async () => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_ENV|TEST)/.test(name)))
  const child = spawn(process.execPath, ['node_modules/jiti/lib/jiti-cli.mjs', 'test/mutants/main.ts'], {
    cwd: ROOT,
    env,
  })
  process.once('exit', () => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk
    })
  }
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect({ code, output }).toEqual({
    code: 0,
    output: expect.stringContaining(`${MUTANTS.length} of ${MUTANTS.length} killed`),
  })
}, 900_000)
