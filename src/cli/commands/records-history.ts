import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import { changedFields, type FieldChange } from '../../run/reparse/reparse-fields.js'
import type { RecordVersion } from '../../store/history.js'
import type { Json } from '../../url/link.js'
import { guide } from '../help.js'
import type { Output } from '../output.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'
import { moment } from '../terminal/format.js'
import { cutEnd } from '../terminal/width.js'

/** Longest value printed, in columns. */
const VALUE_WIDTH = 60

interface HistoryFlags {
  readonly spider?: string
  readonly kind?: string
  readonly site?: string
}

export function recordsHistoryCommand(records: Command): void {
  const history = records
    .command('history')
    .description('earlier versions of a record, change by change, for kinds with `history: true`')
    .argument('<key>', 'key of the record')
    .option('--spider <name>', 'only records of this spider')
    .option('--kind <kind>', 'only records of this kind')
    .option('--site <domain>', 'only records of this site')
    .action(
      acts(async (session, key: string, flags: HistoryFlags) => {
        await session.withResults(async ({ store }) => {
          const { output, json } = session
          const { spider, kind, site } = flags
          const query = { ...(spider && { spider }), ...(kind && { kind }), ...(site && { site }), key }
          let found = 0
          let older = false
          let shown: RecordVersion | null = null
          for await (const { version, changes } of changesIn(store.history.versions(query))) {
            found += 1
            older ||= version.until !== null
            if (json) output.json({ ...version, changes })
            else show(output, version, changes, shown)
            shown = version
          }
          if (found === 0) {
            const hint = 'List records: `shoal records list`.'
            throw new ShoalError('not_found', `there is no record with the key ${key}`, { hint })
          }
          if (!older) output.note('no older versions are kept; kinds with `history: true` keep them from then on')
        })
      }),
    )
  guide(history, {
    examples: [
      ['records history B-0042', 'all changes of the record, newest first'],
      ['records history B-0042 --kind book --json', 'all versions with their data, one per line'],
    ],
    exitCodes: ['notFound'],
  })
}

interface Step {
  readonly version: RecordVersion
  /** Compared with the previous version; null: there is none. */
  readonly changes: FieldChange[] | null
}

/** Each version with what it changed. Versions arrive newest first, so the changes are known once the previous version has arrived. */
async function* changesIn(versions: AsyncIterable<RecordVersion>): AsyncGenerator<Step> {
  let newer: RecordVersion | null = null
  for await (const version of versions) {
    const follows = newer !== null && version.until !== null
    if (newer !== null) yield { version: newer, changes: follows ? changedFields(version.data, newer.data) : null }
    newer = version
  }
  if (newer !== null) yield { version: newer, changes: null }
}

function show(
  { print, style }: Output,
  version: RecordVersion,
  changes: FieldChange[] | null,
  before: RecordVersion | null,
): void {
  if (version.until === null) {
    if (before !== null) print()
    print(`${style.bold(clean(version.kind))} ${clean(version.key)}`)
    print(style.dim(`  ${clean(version.url)}, spider ${clean(version.spider)}`))
  }
  const at = moment(version.from)
  if (changes === null) {
    print(`  ${style.dim(at)}  ${version.until === null ? 'current version:' : 'first version kept:'}`)
    for (const [field, value] of fieldsOf(version.data)) print(`    ${clean(field)}: ${shown(value)}`)
    return
  }
  // The data is the same when only the identity of the record has changed.
  if (changes.length === 0) return
  print(`  ${style.dim(at)}`)
  for (const { field, before: was, after: is } of changes) {
    const name = field === '' ? '' : `${clean(field)}: `
    print(`    ${name}${style.dim(shown(was))} → ${shown(is)}`)
  }
}

function fieldsOf(data: Json): [string, Json][] {
  return data !== null && typeof data === 'object' && !Array.isArray(data) ? Object.entries(data) : [['data', data]]
}

function shown(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  return cutEnd(clean(typeof value === 'string' ? value : JSON.stringify(value)), VALUE_WIDTH)
}
