import { ShoalError } from '../errors.js'
import { nearest } from '../nearest.js'
import type { RecordStore } from '../store/record-store.js'

/** So many known names are listed. */
const LISTED = 10

/** Refuses a spider or a kind of record that the store does not know: an empty answer would look as if there were no records. */
export async function refuseUnknown(
  { records, crawls }: Pick<RecordStore, 'records' | 'crawls'>,
  { spider, kind }: { readonly spider?: string | undefined; readonly kind?: string | undefined },
): Promise<void> {
  if (spider === undefined && kind === undefined) return
  const counts = await records.counts({})
  if (spider !== undefined) {
    const spiders = [...counts, ...(await crawls.notes())].map((one) => one.spider)
    if (!spiders.includes(spider)) throw unknownName('spider', spider, spiders)
  }
  if (kind === undefined) return
  const ofSpider = counts.filter((one) => spider === undefined || one.spider === spider)
  const kinds = ofSpider.map((one) => one.kind)
  if (!kinds.includes(kind)) throw unknownName('kind', kind, kinds)
}

/** The known names come along, the nearest first. */
export function unknownName(what: 'spider' | 'kind' | 'crawl', name: string, names: readonly string[]): ShoalError {
  const known = [...new Set(names)]
  const guess = nearest(name, known)
  const listed = guess === null ? known : [guess, ...known.filter((one) => one !== guess)]
  const more = listed.length > LISTED ? ` and ${listed.length - LISTED} more` : ''
  const meant = guess === null ? '' : `Did you mean '${guess}'? `
  return new ShoalError('not_found', `there is no ${what} '${name}'`, {
    hint:
      known.length === 0
        ? `No ${what}s are stored yet: run a spider first.`
        : `${meant}Known ${what}s: ${listed.slice(0, LISTED).join(', ')}${more}.`,
  })
}
