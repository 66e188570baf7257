import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { ShoalError } from '../errors.js'
import type { CrawlArgs } from '../frontier/frontier.js'
import type { SpiderSource } from '../run/spider-source.js'
import type { Spider } from '../spider/spider.js'
import { rememberedSpider } from './export/source-memory.js'
import type { Session } from './session.js'

/** On the commands that load a spider file for a crawl. */
export interface ArgFlags {
  readonly arg?: CrawlArgs
}

export function argOption(command: Command): Command {
  return command.option(
    '-a, --arg <name=value>',
    'argument of the spider, such as category=shoes; repeat it for more',
    withArg,
  )
}

function withArg(text: string, before: CrawlArgs = {}): CrawlArgs {
  const equals = text.indexOf('=')
  if (equals < 1) throw new InvalidArgumentError('Expected <name>=<value>, such as category=shoes.')
  const name = text.slice(0, equals)
  if (Object.hasOwn(before, name)) throw new InvalidArgumentError(`'${name}' is given twice.`)
  return Object.fromEntries([...Object.entries(before), [name, text.slice(equals + 1)]])
}

/** A spider file with the arguments of the command line. */
export function fileSource(file: string, { arg }: ArgFlags): Extract<SpiderSource, { kind: 'file' }> {
  return { kind: 'file', path: resolve(file), ...(arg !== undefined && { args: arg }) }
}

/** Several files, one of which may have arguments. */
export function fileSources(files: readonly string[], flags: ArgFlags): SpiderSource[] {
  if (flags.arg !== undefined && files.length > 1)
    throw new ShoalError('usage', '-a is for one spider, but several were given', {
      hint: 'Start one process for each spider that needs arguments.',
    })
  return files.map((file) => fileSource(file, flags))
}

/** The spider that the user means: its file, or the name of one that ran with this database. Null: the name is unknown here. */
export async function spiderByWord(session: Session, word: string, args?: CrawlArgs): Promise<Spider | null> {
  if (!existsSync(word) && !/[\\/]|\.[cm]?[jt]s$/.test(word)) return rememberedSpider(session.settings, word, args)
  const { loadSpider } = await import('../spider/load.js')
  return loadSpider(resolve(word), args)
}

export function spiderUnknown(name: string, flag: string): ShoalError {
  return new ShoalError('spider_missing', `the file of the spider ${name} is unknown on this machine`, {
    hint: `Name the spider file: ${flag}.`,
  })
}
