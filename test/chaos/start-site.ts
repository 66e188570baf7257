import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parseAccessLog, type SeenAccess } from '../support/access-log.js'
import { type ChildOptions, forkTypeScript } from './children.js'
import { createSite, type Site, type SiteOptions } from './site.js'

export interface RunningSite {
  readonly site: Site
  /** Pages that were asked for at least once. */
  readonly served: number
  /** All requests so far, those under way included. */
  accesses(): Promise<SeenAccess[]>
  stop(): void
}

export async function startSite(
  options: Omit<SiteOptions, 'port'>,
  log: string,
  { within }: Pick<ChildOptions, 'within'> = {},
): Promise<RunningSite> {
  const child = forkTypeScript('./site-process.ts', { ...options, log }, within === undefined ? {} : { within })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  let served = 0
  child.on('message', (message: { served?: number }) => {
    served = message.served ?? served
  })
  return {
    site: createSite({ ...options, port }),
    get served() {
      return served
    },
    async accesses() {
      const flushed = new Promise<void>((resolve) => {
        const listen = (message: { flushed?: true }) => {
          if (message.flushed === undefined) return
          child.off('message', listen)
          resolve()
        }
        child.on('message', listen)
      })
      child.send('flush')
      await flushed
      return parseAccessLog(readFileSync(log, 'utf8'))
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
