import { type Command, Option } from 'commander'
import { addToCrawl } from '../../coordinator/add-entries.js'
import { noteReporter } from '../../coordinator/entry-notes.js'
import { reportedFeedPlace } from '../../coordinator/feed-places.js'
import { linesSource } from '../../discovery/lines.js'
import { ShoalError } from '../../errors.js'
import {
  DEFAULT_FEED,
  type Feed,
  type FeedPlace,
  MAX_ENTRY_BYTES,
  REFUSED_KEPT,
  REFUSED_KEPT_BYTES,
} from '../../feed/feed.js'
import { parseLossless } from '../../json/lossless.js'
import { spiderForCrawl } from '../../spider/arguments.js'
import type { Spider } from '../../spider/spider.js'
import type { Backends } from '../../wire/backends.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts, type Session, wholeNumber } from '../session.js'
import { type ArgFlags, argOption, spiderByWord, spiderUnknown } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { bytes, count, moment, plural } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'

const PUSH_AT_ONCE = 500
/** A line may have a megabyte. */
const PUSH_LENGTH = 4 * 1024 * 1024
/** Of a rejected entry in a table; JSON has all of it. */
const SHOWN_LENGTH = 200

interface FeedFlags extends ArgFlags {
  readonly rejected: boolean
  readonly refused: boolean
  readonly retryRejected: boolean
  readonly retryRefused: boolean
  readonly again: boolean
  readonly limit: number
}

export function feedCommand(program: Command): void {
  const command = program
    .command('feed')
    .description('push URLs to a running crawl, from a file or standard input')
    .argument('<spider>', 'spider file or name')
    .argument(
      '[file]',
      'one URL or JSON object {"url","route","priority","data","again", …} per line; - is standard input',
      '-',
    )
    .option('--again', 'also visit URLs that were visited before', false)
    .option('--rejected', 'list rejected entries instead, newest first', false)
    .option('--retry-rejected', 'put all rejected entries back into the feed instead, after the cause is fixed', false)
    .addOption(new Option('--refused', 'the same as --rejected').default(false).hideHelp())
    .addOption(new Option('--retry-refused', 'the same as --retry-rejected').default(false).hideHelp())
    .option('--limit <n>', 'list at most this many', wholeNumber, 50)
    .action(
      acts(async (session, word: string, file: string, flags: FeedFlags) => {
        const spider = await spiderByWord(session, word, flags.arg)
        const name = spider?.name ?? word
        await session.withBackends(async (backends) => {
          const feed = backends.feed(name, await placeOf(backends, spider, name))
          const lists = flags.rejected || flags.refused
          const retries = flags.retryRejected || flags.retryRefused
          if (lists && retries) throw new ShoalError('usage', '--rejected and --retry-rejected cannot be combined')
          if (lists) return listRejected(session, withFeed(feed), name, flags.limit)
          if (retries) return retryRejected(session, withFeed(feed), name)
          if (feed !== null) return pushAll(session, feed, name, file, flags.again)
          if (spider === null) throw spiderUnknown(name, 'shoal feed <spider file>')
          await addAll(session, backends, spider, file, flags.again)
        })
      }),
    )
  argOption(command)
  guide(command, {
    examples: [
      ['feed books urls.txt --queue redis://queue.example', 'running workers pick them up within two seconds'],
      ['feed books.ts - < urls.txt', 'with an embedded queue they go straight into the open crawl'],
      ['feed books --rejected --json', 'entries that were not URLs or out of scope, with the reason'],
      ['feed books --retry-rejected', 'take them back, for example after the scope of the spider was changed'],
    ],
    exitCodes: ['notFound'],
  })
}

/** That of the spider file; of a spider that is known by name only, the one that its workers have reported. */
async function placeOf({ notes }: Backends, spider: Spider | null, name: string): Promise<FeedPlace> {
  if (spider !== null) return spider.feed ?? DEFAULT_FEED
  return (await reportedFeedPlace(notes, name)) ?? DEFAULT_FEED
}

function withFeed(feed: Feed | null): Feed {
  if (feed !== null) return feed
  throw new ShoalError('usage', 'an embedded queue has no feed: `shoal feed` reports rejected entries immediately')
}

async function pushAll(session: Session, feed: Feed, spider: string, file: string, again: boolean): Promise<void> {
  let pushed = 0
  let texts: string[] = []
  let length = 0
  const flush = async () => {
    if (texts.length > 0) await feed.push(texts)
    pushed += texts.length
    texts = []
    length = 0
  }
  for await (const line of linesSource(file).entries()) {
    texts.push(again ? withAgain(String(line)) : String(line))
    length += texts.at(-1)?.length ?? 0
    if (texts.length >= PUSH_AT_ONCE || length >= PUSH_LENGTH) await flush()
  }
  await flush()
  if (session.json) session.output.json({ spider, pushed })
  else session.output.print(`${plural(pushed, 'entry', 'entries')} pushed to ${feedName(feed, spider)}`)
}

function feedName({ key }: Feed, spider: string): string {
  return `the feed of ${clean(spider)} (${clean(key)})`
}

/** Anything that is not JSON is a URL, or garbage that the worker rejects as it is. */
function withAgain(line: string): string {
  if (!/^[{["]/.test(line)) return JSON.stringify({ url: line, again: true })
  try {
    const value: unknown = parseLossless(line)
    return JSON.stringify(Array.isArray(value) ? value.map(entryAgain) : entryAgain(value))
  } catch {
    return line
  }
}

function entryAgain(entry: unknown): unknown {
  if (typeof entry === 'string') return { url: entry, again: true }
  return typeof entry === 'object' && entry !== null ? { ...entry, again: true } : entry
}

async function addAll(
  session: Session,
  backends: Backends,
  spider: Spider,
  file: string,
  again: boolean,
): Promise<void> {
  const { output, clock, json } = session
  const crawls = (await crawlsNewestFirst(backends.frontier)).filter((crawl) => crawl.spider === spider.name)
  const { id: crawl, args } = chooseCrawl(crawls, undefined)
  const rejected: { entry: string; reason: string }[] = []
  const sum = await addToCrawl(backends.frontier, spiderForCrawl(spider, args), crawl, linesSource(file), {
    again,
    clock,
    onRefused: (entry, reason) => rejected.push({ entry, reason }),
    onNotes: noteReporter((note, keys) => output.note(`${[clean(keys.join(', ')), note].filter(Boolean).join(': ')}`)),
  })
  if (json) return output.json({ spider: spider.name, crawl, ...sum, rejected })
  output.print(`${plural(sum.added, 'URL')} added to crawl ${crawl}, ${count(sum.known)} already known`)
  for (const { entry, reason } of rejected) output.note(`rejected: ${clean(entry).slice(0, 100)}: ${clean(reason)}`)
  if (sum.overLimit > 0) output.note(`${count(sum.overLimit)} over a budget of the crawl`)
}

async function listRejected(session: Session, feed: Feed, spider: string, limit: number): Promise<void> {
  const { output, json } = session
  const { entries, kept, dropped } = await feed.refused(limit)
  if (json) output.jsonLines(entries)
  else if (entries.length > 0)
    output.table(
      ['rejected', shrinking('entry'), 'reason'],
      entries.map(({ text, reason, at }) => [moment(at), clean(text.slice(0, SHOWN_LENGTH)), clean(reason)]),
    )
  const name = feedName(feed, spider)
  if (kept === 0) output.note(`no rejected entries in ${name}`)
  if (kept > entries.length)
    output.note(
      `the newest ${count(entries.length)} of ${plural(kept, 'rejected entry', 'rejected entries')} in ${name}; --limit shows more`,
    )
  if (dropped > 0)
    output.note(
      `${plural(dropped, 'older rejected entry was', 'older rejected entries were')} dropped: ` +
        `at most ${count(REFUSED_KEPT)} and ${bytes(REFUSED_KEPT_BYTES)} are kept`,
    )
}

/** Those that are still wrong are rejected again by the next worker that takes them. */
async function retryRejected(session: Session, feed: Feed, spider: string): Promise<void> {
  const { retried, left } = await feed.retryRefused()
  if (session.json) return session.output.json({ spider, key: feed.key, retried, left })
  const name = feedName(feed, spider)
  session.output.print(`${plural(retried, 'rejected entry', 'rejected entries')} put back into ${name}`)
  if (left > 0)
    session.output.note(
      `${plural(left, 'entry', 'entries')} over ${bytes(MAX_ENTRY_BYTES)} cannot be retried: only the beginning is kept`,
    )
}
