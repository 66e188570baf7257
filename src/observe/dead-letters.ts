import type { ErrorCode } from '../errors.js'
import type { CrawlId, Frontier } from '../frontier/frontier.js'

/** The dead letters of a crawl with one error code. */
export interface DeadLetters {
  readonly code: ErrorCode
  readonly count: number
  /** The URL of one of them. */
  readonly sample: string
  /** Different messages, each with one page that has it; empty for the rarer codes. */
  readonly examples: readonly { readonly message: string; readonly url: string }[]
}

/** So many of the most frequent codes are explained. */
const CODES_EXPLAINED = 5
/** A handler fails in more than one place. Three are enough to begin with. */
const EXAMPLES = 3
/** So many dead letters of a code are read for that. */
const READ = 50

/** Read while the queue is open: one in memory is gone when the run has ended. */
export async function deadLetters(
  frontier: Pick<Frontier, 'deadByError' | 'links'>,
  crawl: CrawlId,
): Promise<readonly DeadLetters[]> {
  const groups = await frontier.deadByError(crawl)
  return Promise.all(
    groups.map(async ({ code, count, sample }, nth) => {
      if (nth >= CODES_EXPLAINED) return { code, count, sample, examples: [] }
      const links = await frontier.links({ crawl, state: 'dead', code, limit: READ })
      const messages = new Map<string, { message: string; url: string }>()
      for (const { url, failures } of links) {
        const message = failures.at(-1)?.message ?? ''
        const kind = whereItHappened(message)
        if (!messages.has(kind)) messages.set(kind, { message, url })
      }
      return { code, count, sample, examples: [...messages.values()].slice(0, EXAMPLES) }
    }),
  )
}

const PLACE = /^[^\s:]{1,500}:\d{1,9}:\d{1,9}(?=: )/

/** Messages of one place in the spider are one problem, whatever they quote from the page; so are all that name no place. */
export function whereItHappened(message: string): string {
  return PLACE.exec(message)?.[0] ?? ''
}
