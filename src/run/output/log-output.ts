import type { Clock } from '../../clock.js'
import type { Log } from '../../log.js'
import { LineLimit } from '../../worker/line-limit.js'
import { withoutOpenedSecrets } from '../../worker/secrets.js'
import { captureOutput } from './capture-output.js'

export interface LoggedOutput {
  /** Drops what is printed until `work` has ended. */
  dropped<Result>(work: () => Promise<Result>): Promise<Result>
  /** The spider code has ended: logs what is left. */
  end(): void
}

/** What spider code of this thread prints goes to the log, with the page it belongs to if that is known. */
export function logOutput(parts: {
  readonly clock: Clock
  readonly log: Pick<Log, 'spider'>
  /** One of its own when left out. */
  readonly lines?: LineLimit
}): LoggedOutput {
  const { clock, log, lines = new LineLimit({ clock, log }) } = parts
  let isDropped = false
  const flush = captureOutput(clock, ({ level, message, page }) => {
    if (isDropped || !lines.accepts(message)) return
    const about = page === null ? {} : { fp: page.fp, route: page.route, url: page.url }
    log.spider(level, 'spider.output', { ...about, message: withoutOpenedSecrets(message) })
  })
  return {
    async dropped(work) {
      isDropped = true
      try {
        return await work()
      } finally {
        flush()
        isDropped = false
      }
    },
    end() {
      flush()
      lines.report()
    },
  }
}
