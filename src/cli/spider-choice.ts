import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { ShoalError } from '../errors.js'
import type { Spider } from '../spider/spider.js'
import { rememberedSpider } from './export/source-memory.js'
import type { Session } from './session.js'

/** The spider a person means: its file, or the name of one that was run with this database. Null when the name is not remembered. */
export async function spiderByWord(session: Session, word: string): Promise<Spider | null> {
  if (!existsSync(word) && !/[\\/]|\.[cm]?[jt]s$/.test(word)) return rememberedSpider(session.settings, word)
  const { loadSpider } = await import('../spider/load.js')
  return loadSpider(resolve(word))
}

export function spiderUnknown(name: string, flag: string): ShoalError {
  return new ShoalError('spider_missing', `the file of the spider ${name} is not known here`, {
    hint: `Give it: ${flag}.`,
  })
}
