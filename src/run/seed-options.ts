import { seedFile } from '../coordinator/seed-file.js'
import type { SeedOptions } from '../coordinator/seeding.js'
import type { Log } from '../log.js'
import { showUrl } from '../url/show-url.js'

/** So many refused seeds are told one by one. */
const TOLD = 20

/** Further seeds from a file or standard input. */
export function seedOptions(seeds: string | undefined, log: Log): Pick<SeedOptions, 'sources' | 'onRefused'> {
  let refused = 0
  return {
    sources: seeds === undefined ? [] : [seedFile(seeds)],
    onRefused(entry, reason) {
      refused++
      const text = typeof entry === 'string' ? entry : JSON.stringify(entry)
      if (refused <= TOLD) log.warn('link.refused', { seed: showUrl(text), reason })
      if (refused === TOLD) log.warn('link.refused', { reason: 'more seeds that are refused are only counted' })
    },
  }
}
