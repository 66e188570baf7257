/**
 * npm runs this after an install in a clone, and npx runs it before it calls the command of the folder it is in. Without the compiler (`npm ci
 * --omit=dev`, or npx before the first install) it builds nothing and does not fail: npx would remember the failure forever.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const STEPS = [
  ['typescript/bin/tsc', '-p', 'tsconfig.json'],
  // The web app of the dashboard.
  ['vite/bin/vite.js', 'build', '--config', 'dashboard/vite.config.ts', '--logLevel', 'warn'],
]

for (const [tool, ...args] of STEPS) {
  const file = fileURLToPath(new URL(`../node_modules/${tool}`, import.meta.url))
  if (!existsSync(file) || process.exitCode) continue
  const { status } = spawnSync(process.execPath, [file, ...args], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
