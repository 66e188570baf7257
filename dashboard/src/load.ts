import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../../src/api/api-types.js'
import { ApiFailure, get, isAborted, type Query } from './api.js'

export interface Loaded<Value> {
  /** The previous value stays until the new one has arrived; null before the first. */
  readonly value: Value | null
  readonly failure: ApiFailure | null
  readonly loading: boolean
  reload(): void
}

/** One response of the server; with `everyMs` it is polled while the page is visible. */
export function useLoad<Value>(url: string | null, query: Query = {}, everyMs?: number): Loaded<Value> {
  const asked = url === null ? null : JSON.stringify([url, query])
  const [state, setState] = useState<{ asked: string | null; value: Value | null; failure: ApiFailure | null }>({
    asked: null,
    value: null,
    failure: null,
  })
  const [turn, setTurn] = useState(0)
  const [loading, setLoading] = useState(true)
  const inFlight = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` is url and query as one value; `turn` triggers a reload
  useEffect(() => {
    if (url === null) return
    const stop = new AbortController()
    inFlight.current = true
    setLoading(true)
    get<Value>(url, query, stop.signal)
      .then((value) => setState({ asked, value, failure: null }))
      .catch((error: unknown) => {
        if (isAborted(error)) return
        const failure = failureFrom(error)
        setState((before) => ({ asked, value: before.asked === asked ? before.value : null, failure }))
      })
      .finally(() => {
        if (stop.signal.aborted) return
        inFlight.current = false
        setLoading(false)
      })
    return () => stop.abort()
  }, [asked, turn])
  useEffect(() => (everyMs === undefined ? undefined : everyTick(everyMs, inFlight, setTurn)), [everyMs])
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  const mine = state.asked === asked
  return { value: mine ? state.value : null, failure: mine ? state.failure : null, loading, reload }
}

/** Triggers the next request, unless the page is hidden or the last one is still in flight: a response slower than the interval would never be seen. */
export function everyTick(
  everyMs: number,
  inFlight: { readonly current: boolean },
  setTurn: (next: (before: number) => number) => void,
): () => void {
  const timer = setInterval(() => {
    if (document.visibilityState === 'visible' && !inFlight.current) setTurn((before) => before + 1)
  }, everyMs)
  return () => clearInterval(timer)
}

export interface Pages<Item> {
  readonly items: readonly Item[]
  readonly failure: ApiFailure | null
  readonly loading: boolean
  /** Loads the next page; null: this was the last one. */
  readonly more: (() => void) | null
  /** Starts over from the first page. */
  reload(): void
  /** Shows items immediately, before the server is asked again. */
  change(items: readonly Item[]): void
}

/** A list of the server, page by page. */
export function usePages<Item>(url: string | null, query: Query = {}): Pages<Item> {
  const asked = url === null ? null : JSON.stringify([url, query])
  const [items, setItems] = useState<readonly Item[]>([])
  const [next, setNext] = useState<string | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [loading, setLoading] = useState(true)
  const [turn, setTurn] = useState(0)
  const running = useRef<AbortController | null>(null)

  const load = (after: string | null, before: readonly Item[]) => {
    if (url === null) return
    running.current?.abort()
    const stop = new AbortController()
    running.current = stop
    setLoading(true)
    get<Page<Item>>(url, after === null ? query : { ...query, after }, stop.signal)
      .then((page) => {
        setItems([...before, ...page.items])
        setNext(page.next)
        setFailure(null)
      })
      .catch((error: unknown) => {
        if (!isAborted(error)) setFailure(failureFrom(error))
      })
      .finally(() => {
        if (!stop.signal.aborted) setLoading(false)
      })
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` is url and query as one value; `turn` triggers a reload
  useEffect(() => {
    setNext(null)
    load(null, [])
    return () => running.current?.abort()
  }, [asked, turn])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list starts empty
  useEffect(() => setItems([]), [asked])

  return {
    items,
    failure,
    loading,
    more: next === null || loading ? null : () => load(next, items),
    reload: useCallback(() => setTurn((before) => before + 1), []),
    change: setItems,
  }
}

export function failureFrom(error: unknown): ApiFailure {
  if (error instanceof ApiFailure) return error
  return new ApiFailure(0, 'page', error instanceof Error ? error.message : String(error), '')
}
