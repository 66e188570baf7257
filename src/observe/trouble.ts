import { z } from 'zod'
import type { ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { Notes } from '../notes/notes.js'
import { troubleKey } from './note-keys.js'

/** Why not all start URLs of a crawl could be added, when that failed in the background. */
export interface Trouble {
  readonly code: string
  readonly message: string
  readonly hint: string
}

const KEPT_MS = 24 * 3_600_000
/** The same for all processes, so that each replaces the note of the one before. */
const AUTHOR = 'seeding'
const LONGEST = 1_000

const schema = z.object({ code: z.string(), message: z.string(), hint: z.string() })

export async function noteTrouble(notes: Notes, crawl: CrawlId, { code, message, hint }: ShoalError): Promise<void> {
  const text = JSON.stringify({ code, message: message.slice(0, LONGEST), hint: hint.slice(0, LONGEST) })
  await notes.post(troubleKey(crawl), AUTHOR, text, KEPT_MS)
}

/** Called before another attempt. A note that stays because the queue is down expires within a day. */
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
    // Written by another version.
    return null
  }
}
