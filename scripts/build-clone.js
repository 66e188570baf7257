/**
 * npm runs this when it has changed the packages of a clone (`dependencies`), and never where Shoal is a package itself: a script called `prepare`
 * made npm warn everybody who installs the tarball. Without the compiler (`npm ci --omit=dev`) it builds nothing and does not fail.
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
