import type { Clock } from '../../clock.js'
import type { Simulation } from '../../simulate/simulation.js'
import { duration, percent, plural, progressBar } from '../terminal/format.js'
import { liveLines } from '../terminal/live.js'
import { stderr } from '../terminal/streams.js'
import { styleFor } from '../terminal/style.js'

const DRAWN_EVERY_MS = 200
/** On a pipe. */
const PLAIN_EVERY_MS = 10_000

/** How far a simulation has got, on standard error; nothing with --json. */
export function simulateProgress(json: boolean, clock: Clock) {
  const style = styleFor(stderr, process.env)
  const live = !json && stderr.isTTY ? liveLines(stderr) : null
  const every = live === null ? PLAIN_EVERY_MS : DRAWN_EVERY_MS
  const beganAt = clock.mono()
  let shownAt = beganAt
  return {
    /** Lets a signal in, and draws now and then. */
    async show(simulation: Simulation, run: number, runs: number): Promise<void> {
      await clock.sleep(0)
      const now = clock.mono()
      if (json || now - shownAt < every) return
      shownAt = now
      const { profile, ended, elapsedMs } = simulation
      const done = (run + ended / profile.urls) / runs
      const left = done > 0.01 ? `, about ${duration(((now - beganAt) / done) * (1 - done))} left` : ''
      const text = `${percent(done, 1)}  ${plural(ended, 'URL')}, ${duration(elapsedMs)} of the crawl simulated${left}`
      if (live === null) stderr.write(`${text}\n`)
      else live.draw([`${progressBar(done, 1, style, 20)} ${text}`])
    },
    stop(): void {
      live?.stop()
    },
  }
}
