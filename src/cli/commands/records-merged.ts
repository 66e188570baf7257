import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import type { MergedRecord } from '../../merge/merged-records.js'
import { mergedKinds, mergedOf } from '../export/merged-kinds.js'
import { guide } from '../help.js'
import type { Output } from '../output.js'
import { acts, wholeNumber } from '../session.js'
import { type ArgFlags, argOption } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { ago, count, plural } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'
import { cutEnd } from '../terminal/width.js'

const VALUE_WIDTH = 60
const SITES_NAMED = 5

interface MergedFlags extends ArgFlags {
  readonly kind?: string
  readonly identity?: string
  readonly limit: number
}

export function recordsMergedCommand(records: Command): void {
  const merged = records
    .command('merged')
    .description('merged records: those that describe the same thing as one, with the source of each field')
    .argument('<spider>', 'spider file with the merge rules')
    .option('--kind <kind>', 'only records of this kind')
    .option('--identity <identity>', 'only the record with this identity')
    .option('--limit <n>', 'show at most this many', wholeNumber, 20)
    .action(
      acts(async (session, file: string, flags: MergedFlags) => {
        const { loadSpider } = await import('../../spider/load.js')
        const spider = await loadSpider(file, flags.arg)
        const kinds = mergedKinds(spider, flags.kind)
        await session.withResults(async ({ store }) => {
          const { output, clock, json } = session
          let left = flags.limit
          let single = 0
          for (const kind of kinds) {
            if (left === 0) break
            for await (const record of mergedOf(store.entities, spider, kind, flags.identity)) {
              if (json) output.json(record)
              else show(output, record, clock.now(), left < flags.limit)
              single += record.identity === null ? 1 : 0
              if (--left === 0) break
            }
          }
          const found = flags.limit - left
          if (found === 0) throw nothingFound(flags.identity)
          if (json) return
          if (left === 0)
            output.note(`the first ${count(found)}; more with --limit, all with \`shoal export --merged\``)
          if (single === found)
            output.note('none of them has an identity: check that the fields of merge.identity are in the data')
        })
      }),
    )
  argOption(merged)
  guide(merged, {
    examples: [
      ['records merged shops.ts --kind product', 'the first products, each once'],
      ['records merged shops.ts --identity 4006381333931 --json', 'one product, with the source of each field'],
    ],
    exitCodes: ['notFound'],
  })
}

function nothingFound(identity: string | undefined): ShoalError {
  if (identity === undefined) {
    const hint = 'Run the spider first: identities are stored when a record is written.'
    return new ShoalError('not_found', 'no matching records', { hint })
  }
  const hint = 'Drop --identity to list all. Write an identity of several fields as JSON: \'["acme","x1"]\'.'
  return new ShoalError('not_found', `no record has the identity ${identity}`, { hint })
}

function show(
  output: Output,
  { kind, key, data, provenance, sources, count: records }: MergedRecord,
  now: number,
  next: boolean,
): void {
  const { style, print } = output
  if (next) print()
  const sites = [...new Set(sources.map(({ site }) => site))]
  const named = sites.slice(0, SITES_NAMED).map(clean).join(', ')
  const others = sites.length > SITES_NAMED ? ` and ${count(sites.length - SITES_NAMED)} more` : ''
  print(`${style.bold(clean(kind))} ${clean(key)}  ${style.dim(`${plural(records, 'record')} of ${named}${others}`)}`)
  const fields = Object.entries(data !== null && typeof data === 'object' ? data : { data })
  output.table(
    ['  field', shrinking('value'), 'from', 'seen'],
    fields.map(([field, value]) => {
      const source = provenance[field]
      return [
        `  ${clean(field)}`,
        cutEnd(clean(typeof value === 'string' ? value : JSON.stringify(value)), VALUE_WIDTH),
        clean(source?.site ?? ''),
        source === undefined ? '' : ago(source.at, now),
      ]
    }),
  )
}
