import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../../../src/api/api-types.js'
import { type ApiFailure, get, isAborted, type Query } from '../api.js'
import { failureFrom } from '../load.js'

/** A page as it was asked for; the cursors stay as they were, so that a refreshed page fits between its neighbours. */
export interface Held<Item> {
  readonly after: string | null
  readonly items: readonly Item[]
  readonly next: string | null
}

export interface LivePages<Item> {
  readonly items: readonly Item[]
  readonly failure: ApiFailure | null
  readonly loading: boolean
  /** Loads the next page; null: this was the last one, or one is on its way. */
  readonly more: (() => void) | null
  /** Asks for the pages in sight again, now. */
  reload(): void
  /** Which rows are in sight: their pages are kept fresh. */
  readonly onSight: (from: number, to: number) => void
}

/** A long list that moves: pages are loaded as one scrolls, and those in sight are asked for again and again. */
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` asks again
  useEffect(() => {
    const stop = new AbortController()
    const wanted = pagesInSight(newest.current, sight.current)
    if (wanted.length === 0) setLoading(true)
    void Promise.all((wanted.length === 0 ? [null] : wanted).map((after) => load(after, stop.signal))).then(() => {
      if (!stop.signal.aborted) setLoading(false)
    })
    return () => stop.abort()
  }, [load, turn])
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && setTurn((before) => before + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])

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

export function withPage<Item>(pages: readonly Held<Item>[], page: Held<Item>): readonly Held<Item>[] {
  const at = pages.findIndex(({ after }) => after === page.after)
  if (at === -1) return [...pages, page]
  const last = at === pages.length - 1
  return pages.map((one, nth) => (nth === at ? { ...page, next: last ? page.next : one.next } : one))
}

export function pagesInSight<Item>(
  pages: readonly Held<Item>[],
  { from, to }: { readonly from: number; readonly to: number },
): (string | null)[] {
  let begin = 0
  return pages.flatMap(({ after, items }) => {
    const end = begin + items.length
    const seen = end >= from && begin <= to
    begin = end
    return seen ? [after] : []
  })
}

/** A row may have moved from one page to another between two looks: it is shown once. */
function unlike<Item>(pages: readonly Held<Item>[], keyOf: (item: Item) => string): readonly Item[] {
  const byKey = new Map<string, Item>()
  for (const { items } of pages) for (const item of items) if (!byKey.has(keyOf(item))) byKey.set(keyOf(item), item)
  return [...byKey.values()]
}
