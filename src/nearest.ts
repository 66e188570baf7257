/** "Did you mean …?": which known word somebody probably meant. */

/** Longer words are data, not typing mistakes. */
const MOST_LETTERS = 64

/** The known word that differs in at most a third of its letters; null when there is none. */
export function nearest(word: string, known: readonly string[]): string | null {
  let best: string | null = null
  let bestDistance = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase().slice(0, MOST_LETTERS), candidate.toLowerCase())
    if (distance < bestDistance && distance <= tolerated(candidate.length)) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/**
 * How far two names of a page (classes, ids, keys) are apart: 0 for case, hyphens and underscores only, 1 for singular and plural, more for typing
 * mistakes and then for names of which one contains all words of the other (`price`, `product-price`, `price_1x2y3`). Null: they have nothing in common.
 */
export function nameDistance(wanted: string, found: string): number | null {
  if (wanted.length > MOST_LETTERS || found.length > MOST_LETTERS) return null
  const a = plainName(wanted)
  const b = plainName(found)
  if (a === '' || b === '') return null
  if (a === b) return 0
  if (`${a}s` === b || a === `${b}s`) return 1
  const most = tolerated(Math.max(a.length, b.length))
  const distance = Math.abs(a.length - b.length) > most ? Number.POSITIVE_INFINITY : editDistance(a, b)
  // One letter is one mistake away from every other: `a` is not a misspelt `p`.
  if (distance <= most && distance < Math.max(a.length, b.length)) return 1 + distance
  return sharedWords(wordsOf(wanted), wordsOf(found))
}

/** After every typing mistake that counts as near. */
const SHARED_WORDS = 10

function sharedWords(a: ReadonlySet<string>, b: ReadonlySet<string>): number | null {
  const [fewer, more] = a.size <= b.size ? [a, b] : [b, a]
  const long = [...fewer].some((word) => word.length > 2)
  return long && [...fewer].every((word) => more.has(word)) ? SHARED_WORDS + more.size - fewer.size : null
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/[-_\s]/g, '')
}

/** `productPrice`, `product-price` and `product__price` have the same two. */
function wordsOf(name: string): ReadonlySet<string> {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  return new Set(words.filter((word) => word !== '').map((word) => word.replace(/(?<=\w{3})s$/, '')))
}

function tolerated(length: number): number {
  return Math.max(1, Math.floor(length / 3))
}

/** Optimal string alignment: a swap of two neighbours counts as one mistake. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number) => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let cost = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, at(i - 2, j - 2) + 1)
      row.push(cost)
    }
  }
  return at(a.length, b.length)
}
