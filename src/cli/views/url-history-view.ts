import type { Evidence } from '../../observe/explain/evidence.js'
import type { UrlAttempt, UrlHistory } from '../../observe/explain/url-history.js'
import { programName, type Session, shellWord } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, bytes, duration, moment, plural } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'

/** Characters of a record's data shown on its line. */
const DATA_SHOWN = 120

/** A URL that a crawl knows: its state and why, then its history, oldest first. */
export function showUrlHistory(
  session: Session,
  history: UrlHistory,
  { fetches, records }: Evidence,
  rawPage: string | null,
  now: number,
): void {
  const { output } = session
  const { style, print } = output
  const { state, link, crawl, spider, crawlState } = history
  const paint = {
    queued: style.cyan,
    delayed: style.yellow,
    leased: style.cyan,
    done: style.green,
    dead: style.red,
    skipped: style.yellow,
    unknown: style.yellow,
  }[state]
  print(`${paint(state === 'leased' ? 'in flight' : state)}  ${clean(history.url)}`)
  for (const line of history.why) print(`  ${clean(line)}`)
  const [fetch] = fetches
  if (state === 'done' && fetch !== undefined) {
    print(
      `  status ${fetch.status}, ${bytes(fetch.bytes)} in ${duration(fetch.ms)}, ${moment(fetch.at)} (${ago(fetch.at, now)})`,
    )
  }
  if (state === 'done') {
    const kinds = records.map((record) => `${record.kind} ${record.key}`)
    print(
      kinds.length === 0
        ? '  no records have this URL'
        : `  ${plural(kinds.length, 'record')}: ${clean(kinds.join(', '))}`,
    )
  }
  const more =
    link === null
      ? ''
      : `, route ${clean(link.route)}, depth ${link.depth}, priority ${link.priority}, added ${ago(link.addedAt, now)}`
  print(style.dim(`  crawl ${crawl} of ${clean(spider)} (${crawlState})${more}`))
  if (rawPage !== null) print(style.dim(`  raw page ${clean(rawPage)}`))
  timeline(session, history, now)
  const commands = commandsFor(session, history)
  if (commands.length > 0) print()
  for (const [does, command] of commands) print(`${does}: ${style.cyan(command)}`)
}

type Moment = readonly [at: number, what: string, text: string]

function timeline({ output }: Session, history: UrlHistory, now: number): void {
  const { link, admitted } = history
  const moments: Moment[] = [
    ...(link === null || admitted === null ? [] : [[link.addedAt, 'accepted', admitted.by] as const]),
    ...history.attempts.map((attempt) => [attempt.at, attemptName(attempt), attemptText(attempt)] as const),
    ...history.records.map(({ kind, key, changedAt, data }) => {
      const text = JSON.stringify(data)
      const shown = text.length <= DATA_SHOWN ? text : `${text.slice(0, DATA_SHOWN)}…`
      return [changedAt, 'record', `${kind} ${key}  ${shown}`] as const
    }),
    ...(history.state === 'leased' && link !== null && link.leasedAt !== null
      ? [[link.leasedAt, `attempt ${link.attempts + 1}`, `in flight on ${link.worker ?? 'a worker'}`] as const]
      : []),
    ...(history.state === 'delayed' && link !== null && link.dueAt !== null && link.dueAt > now
      ? [[link.dueAt, 'next', `attempt ${link.attempts + 1}, in ${duration(link.dueAt - now)}`] as const]
      : []),
  ]
  if (moments.length === 0) return
  output.print()
  output.table(
    ['when', 'event', shrinking('details')],
    moments.sort(([a], [b]) => a - b).map(([at, what, text]) => [moment(at), what, clean(text)]),
  )
}

function attemptName({ attempt }: UrlAttempt): string {
  return attempt === 0 ? 'ended' : `attempt ${attempt}`
}

function attemptText({ status, bytes: size, ms, error, worker, proxy, page }: UrlAttempt): string {
  const answer = status === 0 ? [] : [String(status)]
  const failure = error === null ? [] : [error.message === '' ? error.code : `${error.code}: ${error.message}`]
  const parts = [
    [...answer, ...failure].join(' '),
    ...(status === 0 ? [] : [`${bytes(size)} in ${duration(ms)}`]),
    ...(proxy === null ? [] : [`through ${proxy}`]),
    worker,
    page ? 'page kept' : '',
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

const COMMANDS = {
  replay: ['retry it', 'dead replay'],
  promote: ['move it to the front', 'links promote'],
  retry: ['retry it now', 'links retry'],
  remove: ['remove it', 'links remove'],
} as const satisfies Record<UrlHistory['can'][number], readonly [does: string, command: string]>

function commandsFor(session: Session, { can, url, crawl }: UrlHistory): (readonly [does: string, command: string])[] {
  return can.map((what) => {
    const [does, command] = COMMANDS[what]
    const line = `${programName(process.env)} ${command} ${shellWord(url)} --crawl ${crawl}${session.sameDatabase}`
    return [does, line] as const
  })
}
