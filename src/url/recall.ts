/**
 * Caches answers by (place, href), for the navigation links that are on every page. It has two generations instead of an LRU list: when the young one
 * is full it becomes the old one, and entries that are used again move over. At most 2 × `size` answers are kept.
 */
export interface Recall<Answer> {
  get(place: string, href: string): Answer | undefined
  set(place: string, href: string, answer: Answer): void
}

type Shelf<Answer> = Map<string, Answer>

export function createRecall<Answer>(size: number): Recall<Answer> {
  let young = new Map<string, Shelf<Answer>>()
  let old = new Map<string, Shelf<Answer>>()
  let count = 0
  // The entries of the last place: most links of a page have the same one.
  let place: string | null = null
  let youngShelf: Shelf<Answer> | undefined
  let oldShelf: Shelf<Answer> | undefined

  const goTo = (next: string): void => {
    place = next
    youngShelf = young.get(next)
    oldShelf = old.get(next)
  }

  const set = (at: string, href: string, answer: Answer): void => {
    if (count >= size) {
      old = young
      young = new Map()
      count = 0
      place = null
    }
    if (at !== place) goTo(at)
    if (youngShelf === undefined) {
      youngShelf = new Map()
      young.set(at, youngShelf)
    }
    youngShelf.set(href, answer)
    count++
  }

  return {
    get(at, href) {
      if (at !== place) goTo(at)
      const answer = youngShelf?.get(href)
      if (answer !== undefined) return answer
      const older = oldShelf?.get(href)
      if (older !== undefined) set(at, detach(href), older)
      return older
    },
    set,
  }
}

/** A copy of the string: a slice of a page keeps the whole page in memory for as long as it lives. */
export function detach(text: string): string {
  return ` ${text}`.slice(1)
}
