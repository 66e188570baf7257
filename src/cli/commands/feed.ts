import type { Command } from 'commander'
import { addToCrawl } from '../../coordinator/add-entries.js'
import { linesSource } from '../../discovery/lines.js'
import { ShoalError } from '../../errors.js'
import { DEFAULT_FEED, type Feed } from '../../feed/feed.js'
import type { Spider } from '../../spider/spider.js'
import type { Backends } from '../../wire/backends.js'
import { chooseCrawl, crawlsNewestFirst } from '../crawl-choice.js'
import { guide } from '../help.js'
import { acts, type Session, wholeNumber } from '../session.js'
import { spiderByWord, spiderUnknown } from '../spider-choice.js'
import { clean } from '../terminal/clean.js'
import { count, moment, plural } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'

const PUSH_AT_ONCE = 500

interface FeedFlags {
  readonly rejected: boolean
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
      'one URL or JSON object {"url","route","priority","data","again"} per line; - is standard input',
      '-',
    )
    .option('--again', 'also visit URLs that were visited before', false)
    .option('--rejected', 'list rejected entries instead, newest first', false)
    .option('--limit <n>', 'list at most this many', wholeNumber, 50)
    .action(
      acts(async (session, word: string, file: string, flags: FeedFlags) => {
        const spider = await spiderByWord(session, word)
        const name = spider?.name ?? word
        await session.withBackends(async (backends) => {
          const feed = backends.feed(name, spider?.feed ?? DEFAULT_FEED)
          if (flags.rejected) return listRejected(session, feed, name, flags.limit)
          if (feed !== null) return pushAll(session, feed, name, file, flags.again)
          if (spider === null) throw spiderUnknown(name, 'shoal feed <spider file>')
          await addAll(session, backends, spider, file, flags.again)
        })
      }),
    )
  guide(command, {
    examples: [
      ['feed books urls.txt --queue redis://queue.example', 'running workers pick them up within two seconds'],
      ['feed books.ts - < urls.txt', 'with an embedded queue they go straight into the open crawl'],
      ['feed books --rejected --json', 'entries that were not URLs or out of scope, with the reason'],
    ],
    exitCodes: ['notFound'],
  })
}

async function pushAll(session: Session, feed: Feed, spider: string, file: string, again: boolean): Promise<void> {
  let pushed = 0
  let texts: string[] = []
  const flush = async () => {
    if (texts.length > 0) await feed.push(texts)
    pushed += texts.length
    texts = []
  }
  for await (const line of linesSource(file).entries()) {
    texts.push(again ? withAgain(String(line)) : String(line))
    if (texts.length >= PUSH_AT_ONCE) await flush()
  }
  await flush()
  if (session.json) session.output.json({ spider, pushed })
  else session.output.print(`${plural(pushed, 'entry', 'entries')} pushed to the feed of ${clean(spider)}`)
}

/** Anything that is not a JSON object is a URL, or garbage that the worker rejects as it is. */
function withAgain(line: string): string {
  if (!line.startsWith('{')) return JSON.stringify({ url: line, again: true })
  try {
    return JSON.stringify({ ...(JSON.parse(line) as object), again: true })
  } catch {
    return line
  }
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
  const { id: crawl } = chooseCrawl(crawls, undefined)
  const rejected: { entry: unknown; reason: string }[] = []
  const sum = await addToCrawl(backends.frontier, spider, crawl, linesSource(file), {
    again,
    clock,
    onRefused: (entry, reason) => rejected.push({ entry, reason }),
  })
  if (json) return output.json({ spider: spider.name, crawl, ...sum, rejected })
  output.print(`${plural(sum.added, 'URL')} added to crawl ${crawl}, ${count(sum.known)} already known`)
  for (const { entry, reason } of rejected)
    output.note(`rejected: ${clean(String(entry)).slice(0, 100)}: ${clean(reason)}`)
  if (sum.overLimit > 0) output.note(`${count(sum.overLimit)} over a budget of the crawl`)
}

async function listRejected(session: Session, feed: Feed | null, spider: string, limit: number): Promise<void> {
  if (feed === null)
    throw new ShoalError('usage', 'an embedded queue has no feed: `shoal feed` reports rejected entries immediately')
  const rejected = await feed.refused(limit)
  if (session.json) return session.output.jsonLines(rejected)
  if (rejected.length === 0) return session.output.note(`no rejected entries in the feed of ${clean(spider)}`)
  session.output.table(
    ['rejected', shrinking('entry'), 'reason'],
    rejected.map(({ text, reason, at }) => [moment(at), clean(text), clean(reason)]),
  )
}
