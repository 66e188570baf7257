import { placeOf } from '../error-place.js'
import type { Log } from '../log.js'
import { namedText } from '../thrown.js'
import { catchUncaught, isOfSpider } from '../uncaught.js'
import { withoutOpenedSecrets } from '../worker/secrets.js'

/** A command with workers outlives what the spider's code throws in the main thread, where its seeds, its outlets and its timers run. */
export function surviveSpider(log: Log): () => void {
  return catchUncaught((thrown) => {
    if (!isOfSpider(thrown)) return false
    const place = placeOf(thrown)
    log.error('spider.uncaught', { message: withoutOpenedSecrets(namedText(thrown)), ...(place !== null && { place }) })
    return true
  })
}
