import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../../../src/api/api-types.js'
import { type ApiFailure, get, isAborted, type Query } from '../api.js'
import { everyTick, failureFrom } from '../load.js'
import { type Held, pagesInSight, unlike, withPage } from './held-pages.js'

export interface LivePages<Item> {
  readonly items: readonly Item[]
  readonly failure: ApiFailure | null
  readonly loading: boolean
  /** Loads the next page; null: this was the last one, or one is loading. */
  readonly more: (() => void) | null
  /** Reloads the pages in view now. */
  reload(): void
  /** Called with the rows in view: their pages are refreshed. */
  readonly onSight: (from: number, to: number) => void
}

/** A long list that changes: pages are loaded as you scroll, and those in view are polled. */
export function useLivePages<Item>(
  url: string,
  query: Query,
  keyOf: (item: Item) => string,
  everyMs: number,
): LivePages<Item> {
  const asked = JSON.stringify([url, query])
  const [held, setHeld] = useState<{ asked: string; pages: readonly Held<Item>[] }>({ asked, pages: [] })
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [loading, setLoading] = useState(true)
  const [turn, setTurn] = useState(0)
  const inFlight = useRef(false)
  const sight = useRef({ from: 0, to: 0 })
  const pages = held.asked === asked ? held.pages : []
  const newest = useRef(pages)
  newest.current = pages

  const load = useCallback(
    async (after: string | null, signal?: AbortSignal): Promise<void> => {
      const [to, how] = JSON.parse(asked) as [string, Query]
      try {
        const { items, next } = await get<Page<Item>>(to, after === null ? how : { ...how, after }, signal)
        setHeld((before) => ({
          asked,
          pages: withPage(before.asked === asked ? before.pages : [], { after, items, next }),
        }))
        setFailure(null)
      } catch (error) {
        if (!isAborted(error)) setFailure(failureFrom(error))
      }
    },
    [asked],
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` triggers a reload
  useEffect(() => {
    const stop = new AbortController()
    inFlight.current = true
    const wanted = pagesInSight(newest.current, sight.current)
    if (wanted.length === 0) setLoading(true)
    void Promise.all((wanted.length === 0 ? [null] : wanted).map((after) => load(after, stop.signal))).then(() => {
      if (stop.signal.aborted) return
      inFlight.current = false
      setLoading(false)
    })
    return () => stop.abort()
  }, [load, turn])
  useEffect(() => everyTick(everyMs, inFlight, setTurn), [everyMs])

  const next = pages.at(-1)?.next ?? null
  const more = useCallback(() => {
    if (next === null) return
    setLoading(true)
    void load(next).then(() => setLoading(false))
  }, [next, load])
  return {
    items: unlike(pages, keyOf),
    failure,
    loading,
    more: next === null || loading ? null : more,
    reload: useCallback(() => setTurn((before) => before + 1), []),
    onSight: useCallback((from, to) => {
      sight.current = { from, to }
    }, []),
  }
}
