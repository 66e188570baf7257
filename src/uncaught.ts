import { isOwnFile } from './error-place.js'
import { placeIn } from './stack-place.js'
import { isError, stackOf } from './thrown.js'

/**
 * Exceptions that reached no catch in the main thread of a command. Without an answer here they end it. The spider's code runs there too (its seeds, its
 * outlets, whatever its file starts), and must not end a process that has workers.
 */
type Catcher = (thrown: unknown) => boolean

const catchers = new Set<Catcher>()

/** `catcher` answers whether it took care of the exception. Returns the function that removes it. */
export function catchUncaught(catcher: Catcher): () => void {
  catchers.add(catcher)
  return () => void catchers.delete(catcher)
}

/** The last that was added knows most: the page of the error, where the others only know that it is the spider's. */
export function isCaught(thrown: unknown): boolean {
  return [...catchers].reverse().some((catcher) => catcher(thrown))
}

/** Shoal throws errors only, so anything else is the spider's. */
export function isOfSpider(thrown: unknown): boolean {
  return !isError(thrown) || placeInSpider(thrown) !== null
}

/** The file of the spider's code that threw; null: it was Shoal, a package, or nobody knows. */
export function placeInSpider(thrown: unknown): string | null {
  const place = stackOf(thrown)
    .split('\n')
    .flatMap((line) => placeIn(line)?.file ?? [])[0]
  return place !== undefined && isOwnFile(place) ? place : null
}
