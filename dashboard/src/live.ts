import type { CrawlView, Overview } from '../../src/api/api-types.js'
import { ApiFailure, isAborted, path, send, withQuery } from './api.js'
import { makeEventReader } from './sse.js'
import { makeStore, useStore } from './store.js'

/** `lost`: it was there, or should be, and is tried again. */
export interface Live {
  readonly connection: 'connecting' | 'live' | 'lost'
  readonly overview: Overview | null
  /** Of the crawl that is looked at. */
  readonly crawl: CrawlView | null
  readonly failure: ApiFailure | null
}

/** The server speaks every second: after so much silence the connection is dead, whatever the network says. */
const SILENT_MS = 15_000
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

const NOTHING: Live = { connection: 'connecting', overview: null, crawl: null, failure: null }
const live = makeStore<Live>(NOTHING)

export function useLive(): Live {
  return useStore(live)
}

/** How long to wait before try number `tries` (from 1): doubled each time, a little different for each page. */
export function waitBefore(tries: number, chance: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1)) * (0.5 + chance / 2)
}

/** Follows the overview, and the crawl if one is looked at, until the answer is called. */
export function follow(crawl: string | null): () => void {
  const stop = new AbortController()
  const before = live.get()
  live.set({ ...before, crawl: before.crawl?.stats.id === crawl ? before.crawl : null, failure: null })
  void keepFollowing(withQuery(path('events'), crawl === null ? {} : { crawl }), stop.signal)
  return () => stop.abort()
}

export function forget(): void {
  live.set(NOTHING)
}

async function keepFollowing(url: string, stop: AbortSignal): Promise<void> {
  for (let tries = 0; !stop.aborted; ) {
    try {
      await followOnce(url, stop, () => {
        tries = 0
      })
    } catch (error) {
      if (stop.aborted) return
      if (error instanceof ApiFailure && error.status === 401) return
      if (error instanceof ApiFailure && error.status >= 400 && error.status < 429) {
        live.set({ ...live.get(), connection: 'live', failure: error })
        return
      }
      if (!(error instanceof ApiFailure) && !isAborted(error) && !(error instanceof TypeError)) throw error
    }
    if (stop.aborted) return
    live.set({ ...live.get(), connection: 'lost' })
    tries += 1
    await pause(waitBefore(tries, Math.random()), stop)
  }
}

async function followOnce(url: string, stop: AbortSignal, onHeard: () => void): Promise<void> {
  const silence = new AbortController()
  const signal = AbortSignal.any([stop, silence.signal])
  let timer = setTimeout(() => silence.abort(), SILENT_MS)
  try {
    const response = await send(url, { signal, headers: { accept: 'text/event-stream' } })
    const read = makeEventReader(({ event, data }) => {
      onHeard()
      take(event, data)
    })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const part = await reader?.read()
      if (part === undefined || part.done) return
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENT_MS)
      read(part.value)
    }
  } finally {
    clearTimeout(timer)
  }
}

function take(event: string, data: string): void {
  const heard: Live = { ...live.get(), connection: 'live', failure: null }
  if (event === 'overview') live.set({ ...heard, overview: JSON.parse(data) as Overview })
  if (event === 'crawl') live.set({ ...heard, crawl: JSON.parse(data) as CrawlView })
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    const now = () => {
      clearTimeout(timer)
      resolve()
    }
    stop.addEventListener('abort', now, { once: true })
    window.addEventListener('online', now, { once: true })
  })
}
