import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ShoalError } from '../errors.js'
import type { Spider } from '../spider/spider.js'
import { rememberedSpider } from './export/source-memory.js'
import type { Session } from './session.js'

/** The spider that the user means: its file, or the name of one that ran with this database. Null: the name is unknown here. */
export async function spiderByWord(session: Session, word: string): Promise<Spider | null> {
  if (!existsSync(word) && !/[\\/]|\.[cm]?[jt]s$/.test(word)) return rememberedSpider(session.settings, word)
  const { loadSpider } = await import('../spider/load.js')
  return loadSpider(resolve(word))
}

export function spiderUnknown(name: string, flag: string): ShoalError {
  return new ShoalError('spider_missing', `the file of the spider ${name} is unknown on this machine`, {
    hint: `Name the spider file: ${flag}.`,
  })
}
