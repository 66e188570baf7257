import { DEFAULT_FEED, type FeedPlace } from '../feed/feed.js'
import type { Notes } from '../notes/notes.js'
import type { Spider } from '../spider/spider.js'

/** After a longer break of all its workers, a spider that is named by its name alone has the default place again. */
const KEPT_MS = 90 * 86_400_000
/** The note is renewed long before it expires … */
const RENEWED_MS = 86_400_000
/** … and written again soon if the queue has lost it. */
export const REPORT_FEED_MS = 600_000
const CLAIM_MS = 10_000

/** Reports to the fleet where a spider is fed from: `shoal feed <name>` is used on machines that do not have the spider's file. */
export async function reportFeedPlace(notes: Notes, holder: string, { name, feed }: Spider): Promise<void> {
  const { kind, key, group } = feed ?? DEFAULT_FEED
  const text = JSON.stringify({ kind, key, group } satisfies FeedPlace)
  const note = await notes.read(keyOf(name))
  if (note === null && text === JSON.stringify(DEFAULT_FEED)) return
  if (note !== null && note.text === text && note.ageMs < RENEWED_MS) return
  const claim = await notes.claim(keyOf(name), holder, 0, CLAIM_MS)
  if (claim.kind === 'yours') await notes.post(keyOf(name), holder, text, KEPT_MS)
}

/** Null: no worker has reported another place than the default. */
export async function reportedFeedPlace(notes: Pick<Notes, 'read'>, spider: string): Promise<FeedPlace | null> {
  const note = await notes.read(keyOf(spider))
  return note === null ? null : (JSON.parse(note.text) as FeedPlace)
}

function keyOf(spider: string): string {
  return `feed:${spider}`
}
