import { ShoalError } from '../../errors.js'
import { type MergedRecord, mergedRecords } from '../../merge/merged-records.js'
import type { Spider } from '../../spider/spider.js'
import type { Entities } from '../../store/entities.js'
import type { RecordSource } from '../../store/export/export.js'
import type { RecordQuery } from '../../store/record-store.js'

/** The kinds of a spider that say how they are merged: all of them, or the one that was asked for. */
export function mergedKinds(spider: Spider, asked: string | undefined): string[] {
  const kinds = [...spider.records].filter(([, { merge }]) => merge !== null).map(([kind]) => kind)
  if (asked === undefined ? kinds.length > 0 : kinds.includes(asked)) return asked === undefined ? kinds : [asked]
  const what = asked === undefined ? `no kind of ${spider.name}` : `the kind ${asked} of ${spider.name}`
  throw new ShoalError('usage', `${what} says how its records are merged`, {
    hint: 'Give the kind a merge in the spider: see docs/merge.md.',
  })
}

/** Of one of these kinds; `identity` as a person writes it. */
export async function* mergedOf(
  store: Entities,
  spider: Spider,
  kind: string,
  identity?: string,
): AsyncGenerator<MergedRecord> {
  const merge = spider.records.get(kind)?.merge
  if (merge === undefined || merge === null) return
  const spelled = identity === undefined ? {} : { identity: merge.spelling(identity) ?? '' }
  yield* mergedRecords(store, { spider: spider.name, kind, rules: merge.rules, ...spelled })
}

/** A store as an export sees it, whose records are merged. */
export async function mergedSource(store: Entities, file: string, kind: string | undefined): Promise<RecordSource> {
  const { loadSpider } = await import('../../spider/load.js')
  const spider = await loadSpider(file)
  const kinds = mergedKinds(spider, kind)
  return {
    async *records({ since = 0 }: RecordQuery) {
      for (const one of kinds) {
        for await (const record of mergedOf(store, spider, one)) if (record.updatedAt >= since) yield record
      }
    },
  }
}
