import { z } from 'zod'
import type { ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { Notes } from '../notes/notes.js'
import { troubleKey } from './note-keys.js'

/** Why the start URLs of a crawl are not all in the queue, when nobody was there to be told. */
export interface Trouble {
  readonly code: string
  readonly message: string
  readonly hint: string
}

const KEPT_MS = 24 * 3_600_000
/** By one name for all processes: each replaces the note of the one before. */
const AUTHOR = 'seeding'
const LONGEST = 1_000

const schema = z.object({ code: z.string(), message: z.string(), hint: z.string() })

export async function noteTrouble(notes: Notes, crawl: CrawlId, { code, message, hint }: ShoalError): Promise<void> {
  const text = JSON.stringify({ code, message: message.slice(0, LONGEST), hint: hint.slice(0, LONGEST) })
  await notes.post(troubleKey(crawl), AUTHOR, text, KEPT_MS)
}

/** It is tried again. A note that stays because the queue is away is gone tomorrow. */
export async function clearTrouble(notes: Notes, crawl: CrawlId): Promise<void> {
  try {
    if ((await notes.read(troubleKey(crawl))) !== null) await notes.post(troubleKey(crawl), AUTHOR, '', 1)
  } catch {}
}

export async function readTrouble(notes: Pick<Notes, 'read'>, crawl: CrawlId): Promise<Trouble | null> {
  const note = await notes.read(troubleKey(crawl))
  try {
    return note === null || note.text === '' ? null : schema.parse(JSON.parse(note.text))
  } catch {
    // Of another version.
    return null
  }
}
