import { ShoalError } from '../../errors.js'
import type { CrawlArgs } from '../../frontier/frontier.js'
import { type MergedRecord, mergedRecords } from '../../merge/merged-records.js'
import type { Spider } from '../../spider/spider.js'
import type { Entities } from '../../store/entities.js'
import type { RecordSource } from '../../store/export/export.js'
import type { RecordQuery } from '../../store/record-store.js'

/** The kinds of a spider with merge rules: all of them, or the one asked for. */
export function mergedKinds(spider: Spider, asked: string | undefined): string[] {
  const kinds = [...spider.records].filter(([, { merge }]) => merge !== null).map(([kind]) => kind)
  if (asked === undefined ? kinds.length > 0 : kinds.includes(asked)) return asked === undefined ? kinds : [asked]
  const what =
    asked === undefined ? `no kind of ${spider.name} has` : `the kind ${asked} of ${spider.name} does not have`
  throw new ShoalError('usage', `${what} merge rules`, {
    hint: 'Add `merge` to the kind in the spider: see docs/merge.md.',
  })
}

/** The merged records of one of these kinds; `identity` as the user wrote it. */
export async function* mergedOf(
  entities: Entities,
  spider: Spider,
  kind: string,
  identity?: string,
): AsyncGenerator<MergedRecord> {
  const merge = spider.records.get(kind)?.merge
  if (merge === undefined || merge === null) return
  const spelled = identity === undefined ? {} : { identity: merge.spelling(identity) ?? '' }
  yield* mergedRecords(entities, { spider: spider.name, kind, rules: merge.rules, ...spelled })
}

/** The spider file with the merge rules. */
export interface MergedBy {
  readonly path: string
  readonly args?: CrawlArgs
}

/** A record source for exports whose records are merged. */
export async function mergedSource(
  entities: Entities,
  { path, args }: MergedBy,
  kind: string | undefined,
): Promise<RecordSource> {
  const { loadSpider } = await import('../../spider/load.js')
  const spider = await loadSpider(path, args)
  const kinds = mergedKinds(spider, kind)
  return {
    async *scan({ since = 0 }: RecordQuery) {
      for (const one of kinds) {
        for await (const record of mergedOf(entities, spider, one)) if (record.updatedAt >= since) yield record
      }
    },
  }
}
