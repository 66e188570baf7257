/**
 * Remembers answers by (place, href), for the navigation links that stand on every page. Two generations instead of a list of uses:
 * when the young one is full it becomes the old one, and what is asked for again moves over. At most 2 × `size` answers are kept.
 */
export interface Recall<Answer> {
  get(place: string, href: string): Answer | undefined
  set(place: string, href: string, answer: Answer): void
}

export function createRecall<Answer>(size: number): Recall<Answer> {
  let young = new Map<string, Map<string, Answer>>()
  let old = new Map<string, Map<string, Answer>>()
  let count = 0

  const set = (place: string, href: string, answer: Answer): void => {
    if (count >= size) {
      old = young
      young = new Map()
      count = 0
    }
    let shelf = young.get(place)
    if (shelf === undefined) {
      shelf = new Map()
      young.set(place, shelf)
    }
    shelf.set(href, answer)
    count++
  }

  return {
    get(place, href) {
      const answer = young.get(place)?.get(href)
      if (answer !== undefined) return answer
      const older = old.get(place)?.get(href)
      if (older !== undefined) set(place, detach(href), older)
      return older
    },
    set,
  }
}

/** A string of its own: one cut out of a page keeps the whole page in memory for as long as it lives. */
export function detach(text: string): string {
  return ` ${text}`.slice(1)
}
