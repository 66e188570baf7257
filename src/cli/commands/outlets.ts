import { type Command, Option } from 'commander'
import { CONFIG } from '../../config.js'
import { ShoalError } from '../../errors.js'
import { createLog, silentLog } from '../../log.js'
import type { Outlet } from '../../outlets/outlet.js'
import type { PumpEnd } from '../../outlets/pump.js'
import type { OutletEnd } from '../../run/duties/outlet-duties.js'
import { type ChangesLag, FROM_START } from '../../store/changes.js'
import type { OutletInfo } from '../../store/outlets.js'
import type { RecordStore } from '../../store/record-store.js'
import { controlled } from '../controlled.js'
import { guide } from '../help.js'
import { refuseUnknown } from '../known-names.js'
import { acts, type Session } from '../session.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, spiderByWord, spiderUnknown } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { ago, count, duration, plural } from '../terminal/format.js'
import { stderr } from '../terminal/streams.js'
import { figures, shrinking } from '../terminal/table.js'

/** Pending records are counted up to here; an outlet with more is simply far behind. */
const MOST_COUNTED = 100_000
const PROGRESS_MS = 5_000

export function outletsCommand(program: Command): void {
  const outlets = program
    .command('outlets')
    .description('outlets, which send records to Redis and webhooks as they are written: status and controls')
  listCommand(outlets)
  runCommand(outlets)
  resetCommand(outlets)
  testCommand(outlets)
  guide(outlets, {
    examples: [
      ['outlets list', 'state, lag, the last error, what was trimmed'],
      ['outlets test books.ts', 'check that every outlet can be reached and accepts records'],
    ],
    exitCodes: ['notFound'],
  })
}

interface ListedOutlet extends OutletInfo {
  readonly state: 'stopped' | 'waiting' | 'feeding' | 'idle'
  readonly lag: { readonly records: number; readonly more: boolean; readonly seconds: number }
}

function listCommand(outlets: Command): void {
  const list = outlets
    .command('list')
    .description('list outlets with their state and lag')
    .argument('[spider]', 'only outlets of this spider (name or file)')
    .action(
      acts(async (session, word: string | undefined, { arg }: ArgFlags) => {
        const { output, clock, json } = session
        const spider = word === undefined ? null : await nameOf(session, word, arg)
        await session.withResults(async ({ store }) => {
          const found = (await store.outlets.list()).filter((one) => spider === null || one.spider === spider)
          // A spider that has never run, but has a file, is known by its file.
          if (spider !== null && spider === word && found.length === 0) await refuseUnknown(store, { spider })
          const now = clock.now()
          const listed = await Promise.all(found.map((info) => withLag(store, info, now)))
          if (json) return output.jsonLines(listed)
          if (listed.length === 0) return output.note('no outlets yet: nothing has been sent to one')
          output.table(
            [
              'outlet',
              'state',
              ...figures('sent', 'last', 'pending', 'lag', 'trimmed'),
              shrinking('sender'),
              shrinking('error'),
            ],
            listed.map((one) => [
              clean(one.name),
              one.state === 'stopped' ? output.style.red(one.state) : one.state,
              count(one.sent),
              one.sentAt === null ? 'never' : ago(one.sentAt, now),
              `${count(one.lag.records)}${one.lag.more ? '+' : ''}`,
              one.lag.records === 0 ? '' : duration(one.lag.seconds * 1000),
              count(one.trimmed),
              clean(one.holder ?? 'none'),
              clean(one.error ?? ''),
            ]),
          )
        })
      }),
    )
  argOption(list)
  guide(list, {
    examples: [
      ['outlets list', 'waiting: the target is down; stopped: it rejects records and needs a fix'],
      ['outlets list books --json', 'one per line, with lag.records and lag.seconds'],
    ],
  })
}

async function withLag(store: Pick<RecordStore, 'changes'>, info: OutletInfo, now: number): Promise<ListedOutlet> {
  const { spider, kinds, cursor } = info
  // An incremental export of all spiders also has a position, without a spider.
  const query = {
    ...(spider === '' ? {} : { spider }),
    ...(kinds === null ? {} : { kinds }),
    after: cursor,
    most: MOST_COUNTED,
  }
  const { records, oldestAt }: ChangesLag = await store.changes.lag(query)
  const seconds = oldestAt === null ? 0 : Math.max(0, Math.round((now - oldestAt) / 1000))
  return { ...info, state: stateOf(info), lag: { records, more: records === MOST_COUNTED, seconds } }
}

function stateOf({ stopped, error, holder }: OutletInfo): ListedOutlet['state'] {
  if (stopped) return 'stopped'
  if (error !== null) return 'waiting'
  return holder === null ? 'idle' : 'feeding'
}

function runCommand(outlets: Command): void {
  const run = outlets
    .command('run')
    .description('send pending records to the outlets of a spider; stopped outlets are tried again')
    .argument('<spider>', 'spider file or name')
    .argument('[outlet...]', 'only these outlets (the name after the slash)')
    .option('--follow', 'keep sending new records until Ctrl-C or SIGTERM', false)
    .option(CONFIG.grace.flag, `how long to keep delivering after Ctrl-C or SIGTERM (default: ${CONFIG.grace.default})`)
    .action(
      acts(async (session, word: string, names: string[], flags: ArgFlags & { follow: boolean }) => {
        const { settings, output, json, clock } = session
        const chosen = await chooseOutlets(session, word, names, flags.arg)
        // Without --follow the command prints the result of each outlet at the end.
        const log = flags.follow ? createLog(settings.logLevel, clock, (line) => stderr.write(line)) : silentLog
        const onDrain = () => {
          if (!json) output.note('finishing what is in flight; a second signal stops immediately')
        }
        return withSignals(onDrain, async ({ drain }) => {
          const { runOutlets } = await import('../../run/outlets.js')
          const ends = await session.withResults(async ({ store }) => {
            const over = new AbortController()
            const reporting = json ? null : reportProgress(session, store, chosen, over.signal)
            try {
              return await runOutlets(chosen, {
                ...{ store, queue: settings.queue, log, follow: flags.follow },
                ...{ graceMs: settings.graceMs, drain },
              })
            } finally {
              over.abort()
              await reporting
            }
          })
          for (const { outlet, end } of ends) {
            if (json) output.json({ outlet, ...end })
            else output.print(`${clean(outlet)}: ${plural(end.sent, 'record')} sent${restOf(end)}`)
          }
          const stopped = ends.find(({ end }) => end.kind === 'stopped')
          const behind = flags.follow ? undefined : ends.find(({ end }) => end.kind === 'behind')
          if (stopped !== undefined) throw outletError('outlet_refused', stopped)
          if (behind !== undefined) throw outletError('outlet_down', behind)
        })
      }),
    )
  argOption(run)
  guide(run, {
    examples: [
      ['outlets run books.ts', 'deliver what the last run could not'],
      ['outlets run books webhook --follow', 'one outlet, in its own process'],
    ],
    exitCodes: ['notFound'],
  })
}

function restOf(end: PumpEnd): string {
  if (end.kind === 'elsewhere') return ', another process is sending'
  return 'message' in end ? `, ${end.kind}: ${clean(end.message)}` : ''
}

async function reportProgress(
  { clock, output }: Session,
  store: Pick<RecordStore, 'changes' | 'outlets'>,
  outlets: readonly Outlet[],
  over: AbortSignal,
): Promise<void> {
  const names = outlets.map(({ name }) => name)
  for (;;) {
    await clock.sleep(PROGRESS_MS, over)
    if (over.aborted) return
    const infos = await store.outlets.list().catch(() => [])
    for (const info of infos.filter(({ name }) => names.includes(name))) {
      const { state, sent, lag, error } = await withLag(store, info, clock.now())
      const waiting = `${count(lag.records)}${lag.more ? '+' : ''} pending`
      output.note(
        `${clean(info.name)}: ${state}, ${count(sent)} sent, ${waiting}${error === null ? '' : `, ${clean(error)}`}`,
      )
    }
  }
}

function outletError(code: 'outlet_refused' | 'outlet_down', { outlet, end }: OutletEnd): ShoalError {
  return new ShoalError(code, `outlet ${outlet}: ${'message' in end ? end.message : end.kind}`)
}

const PLACES = ['start', 'end', 'here'] as const

function resetCommand(outlets: Command): void {
  const reset = outlets
    .command('reset')
    .description('move an outlet to another position, and restart it if it has stopped')
    .argument('<spider>', 'spider name or file')
    .argument('<outlet>', 'the name after the slash')
    .addOption(
      new Option('--to <place>', 'start: send everything again; end: skip pending records; here: only clear the error')
        .choices(PLACES)
        .makeOptionMandatory(),
    )
    .action(
      acts(async (session, word: string, outlet: string, { to, arg }: ArgFlags & { to: (typeof PLACES)[number] }) => {
        const { output, json } = session
        const spider = await spiderByWord(session, word, arg)
        const name = spider?.name ?? word
        const full = `${name}/${outlet}`
        await session.withResults(async ({ store }) => {
          const known = [
            ...(await store.outlets.list()).map((one) => one.name),
            ...(spider?.outlets ?? []).map((one) => one.name),
          ]
          if (!known.includes(full)) throw unknownOutlet(full, known)
          const cursor = to === 'here' ? null : to === 'start' ? FROM_START : await store.changes.end()
          await controlled(session, store, { action: 'outlet.reset', target: full, details: { to } }, () =>
            store.outlets.reset(full, name, cursor),
          )
        })
        if (json) output.json({ outlet: full, to })
        else output.print(`${clean(full)} ${DONE[to]}`)
      }),
    )
  argOption(reset)
  guide(reset, {
    examples: [
      ['outlets reset books webhook --to here', 'the receiver is fixed: continue'],
      ['outlets reset books list --to start', 'the list was lost: send every record again'],
    ],
    exitCodes: ['notFound'],
  })
}

const DONE = {
  start: 'starts over: every record will be sent again',
  end: 'skips pending records: only records written from now on will be sent',
  here: 'continues from where it was',
}

function testCommand(outlets: Command): void {
  const test = outlets
    .command('test')
    .description('send an empty batch to every outlet of a spider to check its address, credentials and key')
    .argument('<spider>', 'spider file or name')
    .argument('[outlet...]', 'only these outlets (the name after the slash)')
    .action(
      acts(async (session, word: string, names: string[], { arg }: ArgFlags) => {
        const { settings, output, json } = session
        const chosen = await chooseOutlets(session, word, names, arg)
        const { testOutlets } = await import('../../run/outlets.js')
        const tested = await testOutlets(chosen, settings.queue)
        for (const { outlet, sent } of tested) {
          if (json) output.json({ outlet: outlet.name, ...sent })
          else if (sent.kind === 'taken') output.print(`${clean(outlet.name)}: ok, ${clean(placeOf(outlet))}`)
          else output.print(`${clean(outlet.name)}: ${sent.kind}${'message' in sent ? `: ${clean(sent.message)}` : ''}`)
        }
        const failed = tested.find(({ sent }) => sent.kind !== 'taken')
        if (failed === undefined) return undefined
        const message = 'message' in failed.sent ? failed.sent.message : failed.sent.kind
        throw new ShoalError(
          failed.sent.kind === 'refused' ? 'outlet_refused' : 'outlet_down',
          `outlet ${failed.outlet.name}: ${message}`,
        )
      }),
    )
  argOption(test)
  guide(test, {
    examples: [['outlets test books.ts', 'before a crawl: check addresses, secrets and keys']],
    exitCodes: ['notFound'],
  })
}

function placeOf(outlet: Outlet): string {
  if (outlet.to !== 'webhook') return `Redis ${outlet.to} ${outlet.key}`
  return `${new URL(outlet.url).origin}, ${outlet.secretEnv === null ? 'not signed' : `signed with ${outlet.secretEnv}`}`
}

async function nameOf(session: Session, word: string, args: ArgFlags['arg']): Promise<string> {
  return (await spiderByWord(session, word, args))?.name ?? word
}

async function chooseOutlets(
  session: Session,
  word: string,
  names: readonly string[],
  args: ArgFlags['arg'],
): Promise<readonly Outlet[]> {
  const spider = await spiderByWord(session, word, args)
  if (spider === null) throw spiderUnknown(word, 'the spider file instead of the name')
  if (spider.outlets.length === 0)
    throw new ShoalError('not_found', `the spider ${spider.name} has no outlets`, {
      hint: 'Add `outlets` to the spider: see docs/outlets.md.',
    })
  if (names.length === 0) return spider.outlets
  return names.map((name) => {
    const found = spider.outlets.find((outlet) => outlet.name === `${spider.name}/${name}`)
    if (found === undefined)
      throw unknownOutlet(
        `${spider.name}/${name}`,
        spider.outlets.map((outlet) => outlet.name),
      )
    return found
  })
}

function unknownOutlet(name: string, known: readonly string[]): ShoalError {
  return new ShoalError('not_found', `there is no outlet ${name}`, {
    hint: known.length === 0 ? 'There are no outlets here.' : `Known: ${[...new Set(known)].join(', ')}.`,
  })
}
