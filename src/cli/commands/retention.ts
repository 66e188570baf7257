import { type Command, InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../errors.js'
import type { Retired } from '../../store/export/apply-retention.js'
import {
  expired,
  PARTITION_UNITS,
  type PartitionInfo,
  type PartitionUnit,
  type RetentionRule,
} from '../../store/maintenance.js'
import { parseDuration } from '../../units.js'
import { confirm } from '../confirm.js'
import { guide } from '../help.js'
import { withMaintenance } from '../maintenance.js'
import { acts, type Session } from '../session.js'
import { bytes, count, duration, plural } from '../terminal/format.js'
import { figure } from '../terminal/table.js'

export function retentionCommand(program: Command): void {
  const retention = program
    .command('retention')
    .description('how long Postgres keeps the fetch log and old record versions')
  guide(retention, {
    examples: [
      ['retention show', 'the rule, and all partitions with rows and size'],
      ['retention set --fetches 90d --archive files:/var/lib/shoal/archive', 'set the rule; running workers apply it'],
    ],
  })
  showCommand(retention)
  setCommand(retention)
  applyCommand(retention)
}

function showCommand(retention: Command): void {
  const show = retention
    .command('show')
    .description('the rule, and all partitions with rows and size')
    .action(
      acts(async (session) => {
        const { output, clock } = session
        await withMaintenance(session, async (maintenance) => {
          const rule = await maintenance.retention()
          const partitions = await maintenance.partitions()
          const going = new Set(expired(partitions, rule, clock.now()))
          if (session.json) {
            const rows = partitions.map((one) => ({ ...one, expired: going.has(one) }))
            return output.json({ rule, partitions: rows })
          }
          output.print(ruleInWords(rule))
          output.table(
            ['partition', 'from', 'to', figure('rows'), figure('size'), ''],
            partitions.map((one) => partitionRow(one, going.has(one))),
          )
        })
      }),
    )
  guide(show, { examples: [['retention show --json', 'as JSON']] })
}

function partitionRow({ name, range, retired, rows, bytes: size }: PartitionInfo, goes: boolean): string[] {
  const state = range === null ? (retired ? 'detached, not dropped yet' : 'detached manually') : goes ? 'expired' : ''
  return [
    name,
    range === null ? '' : day(range.from),
    range === null ? '' : day(range.to),
    `~${count(rows)}`,
    bytes(size),
    state,
  ]
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

function ruleInWords({ unit, fetchesMs, versionsMs, archive }: RetentionRule): string {
  const kept = (ms: number | null) => (ms === null ? 'forever' : duration(ms))
  const rule = `one partition per ${unit}; keep fetches: ${kept(fetchesMs)}, old record versions: ${kept(versionsMs)}`
  if (fetchesMs === null && versionsMs === null) return rule
  return `${rule}; older partitions are ${archive === null ? 'dropped' : `archived to ${archive} and dropped`}`
}

interface RuleFlags {
  readonly partition?: PartitionUnit
  readonly fetches?: number | null
  readonly history?: number | null
  readonly archive?: string
}

function setCommand(retention: Command): void {
  const set = retention
    .command('set')
    .description('change the rule; options that are not given stay as they are')
    .addOption(new Option('--partition <unit>', 'length of new partitions').choices([...PARTITION_UNITS]))
    .option('--fetches <time>', 'keep fetches this long: 90d, or forever', age)
    .option('--history <time>', 'keep old record versions this long: 365d, or forever', age)
    .option(
      '--archive <address>',
      'archive each partition as Parquet before dropping it: files:<folder>, s3://bucket/prefix or none',
    )
    .action(
      acts(async (session, flags: RuleFlags) => {
        if (Object.keys(flags).length === 0)
          throw new ShoalError('usage', 'nothing to change: pass --fetches, --history, --partition or --archive')
        await withMaintenance(session, async (maintenance) => {
          const before = await maintenance.retention()
          const archive = flags.archive === undefined ? before.archive : await checkedArchive(flags.archive)
          const rule: RetentionRule = {
            unit: flags.partition ?? before.unit,
            fetchesMs: flags.fetches === undefined ? before.fetchesMs : flags.fetches,
            versionsMs: flags.history === undefined ? before.versionsMs : flags.history,
            archive,
          }
          await maintenance.setRetention(rule)
          if (session.json) session.output.json({ rule })
          else session.output.print(ruleInWords(rule))
        })
      }),
    )
  guide(set, {
    examples: [
      ['retention set --fetches 90d --history 365d', 'older partitions are dropped'],
      [
        'retention set --partition week --archive files:/var/lib/shoal/archive',
        'weekly partitions, archived before they are dropped',
      ],
    ],
  })
}

/** Null: forever. */
function age(text: string): number | null {
  if (text === 'forever') return null
  try {
    return parseDuration(text)
  } catch {
    throw new InvalidArgumentError('Expected a duration like 90d, or forever.')
  }
}

/** A wrong address fails now, not when the first partition expires. */
async function checkedArchive(address: string): Promise<string | null> {
  if (address === 'none') return null
  const { parsePages } = await import('../../wire/backends.js')
  return parsePages(address, null)
}

function applyCommand(retention: Command): void {
  const apply = retention
    .command('apply')
    .description('apply the rule now and create upcoming partitions, as workers do every hour')
    .option('--dry-run', 'show what would be dropped, and change nothing', false)
    .option('--yes', 'skip the confirmation', false)
    .action(
      acts(async (session, flags: { dryRun: boolean; yes: boolean }) => {
        await withMaintenance(session, async (maintenance) => {
          const { output, clock, json } = session
          const rule = await maintenance.retention()
          const going = expired(await maintenance.partitions(), rule, clock.now())
          if (flags.dryRun) return showGoing(session, going)
          if (going.length > 0 && !(await confirm(questionFor(rule, going), flags.yes)))
            return output.note('nothing was changed')
          const { openArchive } = await import('../../wire/backends.js')
          const { applyRetention } = await import('../../store/export/apply-retention.js')
          const archive = rule.archive === null ? null : await openArchive(rule.archive, clock)
          try {
            const retired: Retired[] = []
            const done = await applyRetention(maintenance, archive, clock.now(), (one) => {
              retired.push(one)
              if (!json) output.print(`${one.name}: ${one.archived === null ? 'dropped' : `in ${one.archived}`}`)
            })
            if (json) output.json({ done, retired })
            else if (!done) output.note('another process is already applying the rule; nothing was done here')
            else if (retired.length === 0) output.print('nothing has expired')
          } finally {
            await archive?.close()
          }
        })
      }),
    )
  guide(apply, {
    examples: [
      ['retention apply --dry-run', 'which partitions would be dropped'],
      ['retention apply --yes', 'from a cron job'],
    ],
  })
}

function questionFor({ archive }: RetentionRule, going: readonly PartitionInfo[]): string {
  const rows = going.reduce((sum, one) => sum + one.rows, 0)
  const what = archive === null ? 'Drop' : `Archive to ${archive} and drop`
  return `${what} ${plural(going.length, 'partition')} with about ${plural(rows, 'row')}?`
}

function showGoing({ output, json }: Session, going: readonly PartitionInfo[]): void {
  if (json) output.json({ dryRun: true, expired: going })
  else if (going.length === 0) output.print('nothing has expired')
  else
    for (const { name, rows, bytes: size } of going)
      output.print(`${name}: about ${plural(rows, 'row')}, ${bytes(size)}`)
}
