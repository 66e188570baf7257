import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AccessEntry, parseAccessLog } from '../support/access-log.js'
import { forkTypeScript } from './children.js'
import { createSite, type Site, type SiteOptions } from './site.js'

export interface RunningSite {
  readonly site: Site
  /** All requests so far, those under way included. */
  accesses(): Promise<AccessEntry[]>
  stop(): void
}

export async function startSite(options: Omit<SiteOptions, 'port'>, log: string): Promise<RunningSite> {
  const child = forkTypeScript('./site-process.ts', { ...options, log })
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    site: createSite({ ...options, port }),
    async accesses() {
      child.send('flush')
      await once(child, 'message')
      return parseAccessLog(readFileSync(log, 'utf8'))
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
