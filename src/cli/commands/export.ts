import { type Command, Option } from 'commander'
import { ShoalError } from '../../errors.js'
import type { ExportFormat } from '../../store/export/formats.js'
import { notedCrawl } from '../export/crawl-source.js'
import { formatFor } from '../export/export-file.js'
import { guide } from '../help.js'
import { refuseUnknown } from '../known-names.js'
import { type RecordFlags, recordFilters, recordQuery } from '../record-filters.js'
import { acts, type Session } from '../session.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, fileSource } from '../spider-choice.js'
import { count, plural } from '../terminal/format.js'
import { stderr, stdout } from '../terminal/streams.js'

interface ExportFlags extends RecordFlags, ArgFlags {
  readonly format?: ExportFormat | 'warc'
  readonly out?: string
  readonly incremental?: string
  readonly crawl?: string
  readonly merged?: string
  readonly dataOnly?: boolean
}

export function exportCommand(program: Command): void {
  const command = recordFilters(program.command('export'))
    .description('export records as JSON Lines, CSV, Parquet or SQL, or raw pages as WARC')
    .addOption(
      new Option('--format <format>', 'output format (default: from the file name, or jsonl)').choices([
        'jsonl',
        'csv',
        'parquet',
        'sql',
        'mysql',
        'warc',
      ]),
    )
    .option('--out <file>', 'output file (default: standard output); .gz compresses it')
    .option('--incremental <name>', 'only records that changed since the last export with this name')
    .option('--merged <spider>', 'merge records that describe the same thing, by the rules of this spider file')
    .option(
      '--crawl <crawl>',
      'only what this crawl wrote or confirmed (id, a prefix of it, or a spider name: its newest)',
    )
    .option('--data-only', "only the records' own fields, without spider, key, URL and times")
    .action(
      acts(async (session, flags: ExportFlags) => {
        const format = formatFor(flags.out, flags.format)
        checkFlags(flags, format)
        return untilInterrupted((signal) =>
          format === 'warc' ? exportPages(session, flags, signal) : exportRecords(session, flags, format, signal),
        )
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['export --out books.csv --kind book', 'a table; cells that a spreadsheet would run as formulas are escaped'],
      ['export --out books.csv --kind book --crawl books --data-only', 'the newest crawl, and only the fields'],
      ['export --since 1d | jq .data.title', 'JSON Lines on a pipe'],
      ['export --out books.parquet --spider books', 'typed columns for DuckDB, Spark or pandas'],
      ['export --out new.jsonl.gz --incremental nightly', 'changes since the last export named nightly'],
      ['export --out products.csv --merged shops.ts', 'each product once, merged by the rules of the spider'],
      ['export --out pages.warc.gz --spider books', 'the raw pages, for web-archive tools'],
    ],
    exitCodes: ['notFound', 'interrupted', 'terminated'],
  })
}

const RECORDS_ONLY = (['kind', 'site', 'incremental', 'merged'] as const).map((name) => [name, name] as const)

/** A flag that has no effect is an error: ignoring it would mislead the user. */
function checkFlags(flags: ExportFlags, format: ExportFormat | 'warc'): void {
  const refuse = (message: string, hint: string) => {
    throw new ShoalError('usage', message, { hint })
  }
  if (format === 'warc') {
    for (const [name, flag] of [...RECORDS_ONLY, ['dataOnly', 'data-only']] as const)
      if (flags[name] !== undefined) refuse(`--${flag} applies to records, but WARC contains pages`, `Drop --${flag}.`)
  }
  if (flags.incremental !== undefined) {
    if (flags.out === undefined) refuse('--incremental needs an output file', 'Pass --out <file>.')
    for (const name of ['since', 'site', 'merged', 'crawl'] as const)
      if (flags[name] !== undefined) refuse(`--${name} cannot be combined with --incremental`, `Drop --${name}.`)
    if (!/^[\w.-]{1,64}$/.test(flags.incremental))
      refuse(
        `'${flags.incremental}' is not a valid export name`,
        'Use up to 64 letters, digits, dots, dashes and underscores.',
      )
  }
  if (flags.merged !== undefined) {
    for (const name of ['spider', 'site', 'crawl'] as const)
      if (flags[name] !== undefined) refuse(`--${name} cannot be combined with --merged`, `Drop --${name}.`)
  } else if (flags.arg !== undefined) refuse('-a is for the spider of --merged', 'Drop -a, or pass --merged <spider>.')
  if (flags.out === undefined && stdout.isTTY && (format === 'parquet' || format === 'warc'))
    refuse(`${format} is binary and cannot be printed to a terminal`, 'Pass --out <file>, or pipe the output.')
}

function exportRecords(session: Session, flags: ExportFlags, format: ExportFormat, signal: AbortSignal): Promise<void> {
  return session.withResults(async (results) => {
    const { output } = session
    const out = flags.out ?? null
    const noted = flags.crawl === undefined ? null : await notedCrawl(results.store, flags.crawl)
    // The rules of --merged are those of a file, whose spider may not have run yet.
    if (flags.merged === undefined) await refuseUnknown(results.store, flags)
    const query = { ...recordQuery(flags, session.clock.now()), ...(noted !== null && { spider: noted.spider }) }
    const { exportStoredRecords } = await import('../export/export-records.js')
    const asked = {
      ...{ format, out, query, incremental: flags.incremental ?? null },
      merged: flags.merged === undefined ? null : fileSource(flags.merged, flags),
      ...{ crawl: noted?.crawl ?? null, dataOnly: flags.dataOnly === true },
    }
    const { rows, leftOut } = await exportStoredRecords(session, results, asked, signal)
    if (leftOut > 0) output.note(`${plural(leftOut, 'value')} without a column left out; JSON Lines keeps them all`)
    if (out !== null && session.json) output.json({ file: out, format, records: rows, leftOut })
    else if (out !== null) output.print(`${plural(rows, 'record')} written to ${out}`)
  })
}

function exportPages(session: Session, flags: ExportFlags, signal: AbortSignal): Promise<void> {
  return session.withBackends(async (backends) => {
    const { output } = session
    const { spider, since } = recordQuery(flags, session.clock.now())
    const { exportKeptPages } = await import('../export/export-pages.js')
    const asked = {
      out: flags.out ?? null,
      ...(spider !== undefined && { spider }),
      ...(flags.crawl !== undefined && { crawl: flags.crawl }),
      ...(since !== undefined && { since }),
    }
    const { files, pages, revisits, missing } = await exportKeptPages(session, backends, asked, signal)
    if (pages === 0) output.note('no raw pages were kept: spiders keep them with `savePages: true`')
    if (missing > 0) output.note(`${plural(missing, 'page')} left out: missing from the page store, or damaged`)
    if (flags.out !== undefined && session.json) output.json({ files, format: 'warc', pages, revisits, missing })
    else if (flags.out !== undefined) {
      const same = revisits > 0 ? ` (${count(revisits)} identical to an earlier one)` : ''
      output.print(`${plural(pages, 'page')}${same} written to ${files.join(', ')}`)
    }
  })
}

/** Ctrl-C and SIGTERM abort an export and leave no partial file. */
async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<undefined> {
  const onDrain = () => {}
  await withSignals(onDrain, async (signals) => {
    try {
      await work(signals.drain)
    } catch (error) {
      if (!signals.drain.aborted) throw error
      await new Promise((written) => stderr.write('stopped; nothing was written\n', written))
      // Immediately: waiting for the pipe could hang on a stalled reader, and what is left in it is not a complete export anyway.
      process.exit(signals.exitCode())
    }
  })
}
