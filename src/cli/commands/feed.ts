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

const PUSH_AT_ONCE = 500

interface FeedFlags {
  readonly refused: boolean
  readonly again: boolean
  readonly limit: number
}

export function feedCommand(program: Command): void {
  const command = program
    .command('feed')
    .description('push URLs to a spider whose crawl runs, from a file or standard input')
    .argument('<spider>', 'the spider file, or its name')
    .argument('[file]', 'URLs or JSON {"url","route","priority","data","again"}, one a line; - is standard input', '-')
    .option('--again', 'visit URLs that were visited before as well', false)
    .option('--refused', 'list the entries that were set aside instead, newest first', false)
    .option('--limit <n>', 'list at most so many', wholeNumber, 50)
    .action(
      acts(async (session, word: string, file: string, flags: FeedFlags) => {
        const spider = await spiderByWord(session, word)
        const name = spider?.name ?? word
        await session.withBackends(async (backends) => {
          const feed = backends.feed(name, spider?.feed ?? DEFAULT_FEED)
          if (flags.refused) return listRefused(session, feed, name, flags.limit)
          if (feed !== null) return pushAll(session, feed, name, file, flags.again)
          if (spider === null) throw spiderUnknown(name, 'shoal feed <file of the spider>')
          await addAll(session, backends, spider, file, flags.again)
        })
        return undefined
      }),
    )
  guide(command, {
    examples: [
      ['feed books urls.txt --queue redis://queue.example', 'running workers fetch them within two seconds'],
      ['feed books.ts - < urls.txt', 'an embedded queue takes them straight into the open crawl'],
      ['feed books --refused --json', 'entries that were no URLs, or out of scope, with the reason'],
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

/** What is no JSON object is a URL, or garbage that the worker will set aside as it is. */
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
  const refused: { entry: unknown; reason: string }[] = []
  const sum = await addToCrawl(backends.frontier, spider, crawl, linesSource(file), {
    again,
    clock,
    onRefused: (entry, reason) => refused.push({ entry, reason }),
  })
  if (json) return output.json({ spider: spider.name, crawl, ...sum, refused })
  output.print(`${plural(sum.added, 'URL')} added to crawl ${crawl}, ${count(sum.known)} known`)
  for (const { entry, reason } of refused)
    output.note(`refused: ${clean(String(entry)).slice(0, 100)}: ${clean(reason)}`)
  if (sum.overLimit > 0) output.note(`${count(sum.overLimit)} over a budget of the crawl`)
}

async function listRefused(session: Session, feed: Feed | null, spider: string, limit: number): Promise<void> {
  if (feed === null)
    throw new ShoalError('usage', 'an embedded queue has no feed: what it refuses, `shoal feed` says at once')
  const refused = await feed.refused(limit)
  if (session.json) return session.output.jsonLines(refused)
  if (refused.length === 0) return session.output.note(`nothing of the feed of ${clean(spider)} was refused`)
  session.output.table(
    [{ title: 'refused' }, { title: 'entry', shrinks: true }, { title: 'reason' }],
    refused.map(({ text, reason, at }) => [moment(at), clean(text), clean(reason)]),
  )
}
