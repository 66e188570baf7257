/** A loaded page; its cursors stay the same, so that a refreshed page fits between its neighbours. */
export interface Held<Item> {
  readonly after: string | null
  readonly items: readonly Item[]
  readonly next: string | null
}

/** Adds the page, or replaces the one with the same cursor. */
export function withPage<Item>(pages: readonly Held<Item>[], page: Held<Item>): readonly Held<Item>[] {
  const at = pages.findIndex(({ after }) => after === page.after)
  if (at === -1) return [...pages, page]
  const last = at === pages.length - 1
  return pages.map((one, nth) => (nth === at ? { ...page, next: last ? page.next : one.next } : one))
}

/** The cursors of the pages that contain any of these rows. */
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

/** A row may have moved from one page to another between two requests: it is shown once. */
export function unlike<Item>(pages: readonly Held<Item>[], keyOf: (item: Item) => string): readonly Item[] {
  const byKey = new Map<string, Item>()
  for (const { items } of pages) for (const item of items) if (!byKey.has(keyOf(item))) byKey.set(keyOf(item), item)
  return [...byKey.values()]
}
