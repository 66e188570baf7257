import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { tempDir } from '../support/cli.js'
import { NoPreviousBuild, previousBuild } from './previous-build.js'
import { rollingUpgrade } from './rolling-upgrade.js'

/**
 * `npm run upgrade -- --from v1.2.0`: a fleet is upgraded from one version to this one under load. About 3 minutes, and a few more for the first build of
 * the old version. `--control`: from the old version to the old version, which tells what the mix of versions causes from what restarts or the machine
 * cause. Exit code 0: nothing was lost; 1: violations, listed; 3: the run proves nothing; 4: there is no old version to upgrade from.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    pages: { type: 'string', default: '4000' },
    'step-ms': { type: 'string', default: '3000' },
    control: { type: 'boolean', default: false },
  },
})
const SHOWN = 30
const dir = tempDir('upgrade')
// The servers and workers are ended on exit; a signal alone would leave them running.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.once(signal, () => {
    dir.remove()
    process.exit(code)
  })
const started = performance.now()
const seconds = () => ((performance.now() - started) / 1000).toFixed(1)
try {
  const folder = previousBuild(values.from ?? null)
  const report = await rollingUpgrade({
    old: { name: 'old', folder },
    fresh: { name: 'new', folder: values.control ? folder : fileURLToPath(new URL('../../', import.meta.url)) },
    dir: dir.path,
    pages: Number(values.pages),
    stepMs: Number(values['step-ms']),
    say: (line) => console.log(`${seconds().padStart(6)} s  ${line}`),
  })
  const figures = { ...report.figures, violations: report.violations.length, seconds: seconds() }
  for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(22)} ${value}`)
  for (const line of report.violations.slice(0, SHOWN)) console.log(`violation: ${line}`)
  for (const line of report.invalid) console.log(`proves nothing: ${line}`)
  process.exitCode = report.violations.length > 0 ? 1 : report.invalid.length > 0 ? 3 : 0
} catch (error) {
  if (!(error instanceof NoPreviousBuild)) throw error
  console.error(error.message)
  process.exitCode = 4
} finally {
  dir.remove()
}
