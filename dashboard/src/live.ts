import type { ApiError, CrawlView, Overview } from '../../src/api/api-types.js'
import { ApiFailure, isAborted, path, send, withQuery } from './api.js'
import { makeEventReader, waitBefore } from './sse.js'
import { makeStore, useStore } from './store.js'

/** `lost`: reconnecting. `ended`: the command that served the page has shut down; it may be started again. */
export interface Live {
  readonly connection: 'connecting' | 'live' | 'lost' | 'ended'
  readonly overview: Overview | null
  /** The crawl that is being viewed. */
  readonly crawl: CrawlView | null
  /** Why there is nothing new: the queue is down, or there is no such crawl. */
  readonly failure: ApiFailure | null
}

/** The server sends something every second: after this much silence the connection is dead, whatever the network says. */
const SILENT_MS = 15_000

const NOTHING: Live = { connection: 'connecting', overview: null, crawl: null, failure: null }
const live = makeStore<Live>(NOTHING)

export function useLive(): Live {
  return useStore(live)
}

/** Follows the overview, and the crawl if one is being viewed, until the returned function is called. */
export function follow(crawl: string | null): () => void {
  const stop = new AbortController()
  const before = live.get()
  live.set({ ...before, crawl: before.crawl?.stats.id === crawl ? before.crawl : null, failure: null })
  void keepFollowing(crawl, stop.signal)
  return () => stop.abort()
}

export function forget(): void {
  live.set(NOTHING)
}

async function keepFollowing(crawl: string | null, stop: AbortSignal): Promise<void> {
  for (let tries = 0; !stop.aborted; ) {
    try {
      await followOnce(crawl, stop, () => {
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
    const before = live.get()
    if (before.connection !== 'ended') live.set({ ...before, connection: 'lost' })
    tries += 1
    await pause(waitBefore(tries, Math.random()), stop)
  }
}

async function followOnce(crawl: string | null, stop: AbortSignal, onEvent: () => void): Promise<void> {
  const silence = new AbortController()
  const signal = AbortSignal.any([stop, silence.signal])
  let timer = setTimeout(() => silence.abort(), SILENT_MS)
  try {
    const url = withQuery(path('events'), crawl === null ? {} : { crawl })
    const response = await send(url, { signal, headers: { accept: 'text/event-stream' } })
    const read = makeEventReader(({ event, data }) => {
      onEvent()
      take(event, data, crawl)
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

function take(event: string, data: string, crawl: string | null): void {
  const received: Live = { ...live.get(), connection: 'live' }
  // While a crawl is being viewed, the overview still arrives even if that crawl is gone.
  if (event === 'overview') {
    const overview = JSON.parse(data) as Overview
    live.set({ ...received, overview, failure: crawl === null ? null : received.failure })
  }
  if (event === 'crawl') live.set({ ...received, crawl: JSON.parse(data) as CrawlView, failure: null })
  if (event === 'bye') live.set({ ...received, connection: 'ended' })
  if (event === 'problem') {
    const { code, message, hint } = (JSON.parse(data) as ApiError).error
    live.set({ ...received, failure: new ApiFailure(503, code, message, hint) })
  }
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
