import { type Command, Option } from 'commander'
import type { ExportFormat } from '../../store/export/export.js'
import { formatFor } from '../export-file.js'
import { guide } from '../help.js'
import { type RecordFlags, recordFilters, recordQuery } from '../record-filters.js'
import { acts } from '../session.js'
import { count, plural } from '../terminal/format.js'

interface ExportFlags extends RecordFlags {
  readonly format?: ExportFormat
  readonly out?: string
}

export function exportCommand(program: Command): void {
  const command = recordFilters(program.command('export'))
    .description('write records as JSON Lines or CSV')
    .addOption(new Option('--format <format>', 'default: by the name of the file, or jsonl').choices(['jsonl', 'csv']))
    .option('--out <file>', 'default: standard output')
    .action(
      acts(async (session, flags: ExportFlags) => {
        const format = formatFor(flags.out, flags.format)
        const query = recordQuery(flags, session.clock.now())
        const { exportRecords, exportToFile } = await import('../../store/export/export.js')
        const { rows, leftOut } = await session.withPlant(({ store }) =>
          flags.out === undefined
            ? exportRecords(store, query, format, process.stdout)
            : exportToFile(store, query, format, flags.out),
        )
        if (leftOut > 0) session.output.note(`${count(leftOut)} values had no column; JSON Lines keeps them all`)
        if (flags.out !== undefined && session.json) session.output.json({ file: flags.out, format, records: rows })
        else if (flags.out !== undefined) session.output.print(`${plural(rows, 'record')} written to ${flags.out}`)
        return undefined
      }),
    )
  guide(command, {
    examples: [
      ['export --out books.csv --kind book', 'a table; cells that a spreadsheet would run are made harmless'],
      ['export --since 1d | jq .data.title', 'JSON Lines on a pipe'],
    ],
    exits: ['notFound'],
  })
}
