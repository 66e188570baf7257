import type { Command } from 'commander'
import type { TurnNote, TurnTaken } from '../../coordinator/schedule.js'
import { EXIT } from '../../errors.js'
import type { ScheduleRow } from '../../run/schedules.js'
import type { Spider } from '../../spider/spider.js'
import { guide } from '../help.js'
import type { Output } from '../output.js'
import { acts, programName, shellWord, watchOptions } from '../session.js'
import { sidecarFor, sidecarOptions } from '../sidecars.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, fileSources } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { count, moment, plural } from '../terminal/format.js'
import { stderr } from '../terminal/streams.js'
import { shrinking, table } from '../terminal/table.js'
import { visitLines } from '../views/visits-view.js'

export function scheduleCommand(program: Command): void {
  const schedule = program.command('schedule').description('start crawls on a schedule; list upcoming and past runs')
  guide(schedule, {
    examples: [
      ['schedule run books.ts', 'start its crawls on schedule'],
      ['schedule list books.ts', 'see the next runs'],
    ],
  })
  const run = schedule
    .command('run')
    .description('start a crawl whenever a schedule is due, until stopped; workers fetch the pages')
    .argument('<spider...>', 'spider files (.ts, .js) with a schedule')
    .action(
      acts(async (session, files: string[], flags: ArgFlags & { dashboard: boolean }) => {
        const { settings, output, json, sameDatabase } = session
        const note = (line: string) => {
          if (!json) output.note(line)
        }
        session.noteAddresses()
        const onDrain = () => note('stopping; other processes take the next scheduled runs')
        return withSignals(onDrain, async ({ drain }) => {
          const { runSchedules } = await import('../../run/schedules.js')
          await runSchedules({
            settings,
            sources: fileSources(files, flags),
            drain,
            sidecar: sidecarFor(session, flags, true),
            writeLog: (line) => stderr.write(line),
            onStart: (spiders) => {
              for (const spider of spiders) note(nextLine(spider, session.clock.now()))
              note(
                `start workers with: ${programName(process.env)} worker ${files.map(shellWord).join(' ')}${sameDatabase}`,
              )
            },
            onTurn: (spider, taken) => {
              if (json) output.json({ spider, ...turnJson(taken) })
              else output.print(turnLine(spider, taken))
            },
          })
          return EXIT.ok.code
        })
      }),
    )
  sidecarOptions(watchOptions(argOption(run)))
  guide(run, {
    examples: [
      [
        'schedule run books.ts --queue redis://queue.example',
        'run it on two machines for failover: each scheduled crawl still starts only once',
      ],
      [
        'schedule run books.ts shops.ts --json',
        'one line per scheduled run: {"spider":…,"turn":…,"outcome":"started","crawl":…}',
      ],
    ],
    exitCodes: ['interrupted', 'terminated'],
  })
  const list = schedule
    .command('list')
    .description('show the next scheduled runs, the last one, who started it and its outcome')
    .argument('<spider...>', 'spider files (.ts, .js) with a schedule')
    .action(
      acts(async (session, files: string[], flags: ArgFlags) => {
        const { output, json, clock } = session
        const { listSchedules } = await import('../../run/schedules.js')
        const rows = await session.withBackends((backends) =>
          listSchedules(fileSources(files, flags), backends, clock.now()),
        )
        if (json) for (const row of rows) output.json(rowJson(row))
        else printRows(output, rows)
        return EXIT.ok.code
      }),
    )
  argOption(list)
  guide(list, {
    examples: [
      ['schedule list books.ts', 'next runs, and the outcome of the last one'],
      ['schedule list books.ts --json', '{"spider":…,"cron":…,"next":[…],"last":{…},"crawl":{…},"visits":{…}}'],
    ],
  })
}

function nextLine({ name, schedule }: Spider, now: number): string {
  const next = schedule?.next(now) ?? null
  return `${clean(name)}: ${next === null ? 'no more runs' : `next run ${moment(next)}`} (${schedule?.cron}, ${schedule?.timezone})`
}

export function turnJson(taken: TurnTaken): Record<string, unknown> {
  if (taken.kind === 'waiting') return { turn: iso(taken.turn), outcome: 'waiting', crawl: taken.crawl }
  return noteJson(taken.note)
}

function noteJson(note: TurnNote): Record<string, unknown> {
  return { ...note, turn: iso(note.turn), at: iso(note.at) }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

export function turnLine(spider: string, taken: TurnTaken): string {
  const shown =
    taken.kind === 'waiting' ? { turn: taken.turn, text: `waits for ${taken.crawl}` } : decidedText(taken.note)
  return `${moment(shown.turn)}  ${clean(spider)}  ${clean(shown.text)}`
}

function decidedText({ turn, outcome, crawl, why, missed }: TurnNote) {
  const late = missed > 0 ? `, ${plural(missed, 'earlier run')} missed` : ''
  const text =
    outcome === 'started'
      ? `crawl ${crawl} started`
      : outcome === 'begun'
        ? 'not run yet'
        : `${outcome}: ${why ?? crawl}`
  return { turn, text: `${text}${late}` }
}

function rowJson({ next, last, due, ...row }: ScheduleRow): Record<string, unknown> {
  return { ...row, next: next.map(iso), due: due === null ? null : iso(due), last: last && noteJson(last) }
}

function printRows(output: Output, rows: readonly ScheduleRow[]): void {
  const { style, width, print } = output
  const columns = ['spider', shrinking('schedule'), 'next', 'last', shrinking('outcome')]
  const cells = rows.map(({ spider, cron, timezone, next, last, crawl }) => [
    clean(spider),
    `${cron} ${timezone}`,
    next[0] === undefined ? 'never' : moment(next[0]),
    last === null || last.outcome === 'begun' ? '' : moment(last.turn),
    last === null
      ? 'no process is running this schedule'
      : `${decidedText(last).text}${crawl === null ? '' : ` (now ${crawl.state})`}`,
  ])
  for (const line of table(columns, cells, width, style.dim)) print(line)
  for (const { spider, next, last, due, visits } of rows) {
    print()
    print(`${style.bold(clean(spider))}  then ${next.slice(1).map(moment).join(', ')}`)
    if (last !== null && last.outcome !== 'begun')
      print(
        style.dim(
          `  started ${moment(last.at)} by ${clean(last.by)}${last.missed > 0 ? `, ${count(last.missed)} missed` : ''}`,
        ),
      )
    if (due !== null) print(`  ${style.yellow('overdue:')} ${moment(due)}`)
    for (const line of visitLines(visits, style)) print(line)
  }
}
