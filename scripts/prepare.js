/**
 * npm runs this after an install in a clone, and npx runs it before it calls the command of the folder it is in. Without the compiler
 * (`npm ci --omit=dev`, or npx before the first install) it builds nothing and does not fail: npx would remember the failure for ever.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const compiler = fileURLToPath(new URL('../node_modules/typescript/bin/tsc', import.meta.url))
if (existsSync(compiler)) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.json'], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
