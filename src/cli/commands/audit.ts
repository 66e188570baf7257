import type { Command } from 'commander'
import type { AuditEntry } from '../../store/audit.js'
import { guide } from '../help.js'
import { acts, wholeNumber } from '../session.js'
import { clean } from '../terminal/clean.js'
import { count, moment } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'

const PAGE = 500

export function auditCommand(program: Command): void {
  const command = program
    .command('audit')
    .description('the audit log, newest first: who paused, replayed, deleted or changed what, and the result')
    .option('--limit <n>', 'show at most this many', wholeNumber, 50)
    .action(
      acts(async (session, flags: { limit: number }) => {
        await session.withResults(async ({ store }) => {
          const { output } = session
          const entries: AuditEntry[] = []
          for (let after: string | undefined, more = true; more && entries.length < flags.limit; ) {
            const limit = Math.min(PAGE, flags.limit - entries.length)
            const page = await store.audit.entries({ limit, ...(after === undefined ? {} : { after }) })
            entries.push(...page.entries)
            more = page.next !== null
            after = page.next ?? undefined
          }
          if (session.json) return output.jsonLines(entries)
          if (entries.length === 0) return output.note('the audit log is empty')
          output.table(
            ['when', shrinking('who'), 'action', shrinking('target'), shrinking('details'), 'result'],
            entries.map(({ at, by, action, target, details, result }) => [
              moment(at),
              clean(by),
              clean(action),
              clean(target),
              clean(detailsText(details)),
              result === 'ok' ? result : output.style.red(clean(result)),
            ]),
          )
          if (entries.length === flags.limit) output.note(`the newest ${count(flags.limit)}; more with --limit`)
        })
      }),
    )
  guide(command, {
    examples: [
      ['audit', 'the last 50 actions, from any terminal and from the dashboard'],
      ['audit --limit 1000 --json', '{"at":…,"by":…,"action":…,"target":…,"details":{…},"result":…} a line'],
    ],
    exitCodes: ['notFound'],
  })
}

function detailsText(details: AuditEntry['details']): string {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return JSON.stringify(details)
  return Object.entries(details)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')
}
