import type { Clock } from '../clock.js'
import { isAway } from '../errors.js'
import type { OutletClaim, OutletHold, Outlets } from '../store/outlets.js'

export interface Held extends OutletHold {
  /** Aborted when this process does not hold the outlet any more, or can no longer be sure. */
  readonly lost: AbortSignal
  /** Another process may take it at once. */
  release(): Promise<void>
}

/** Claims the outlet and renews the claim three times per term; null: another process has it. */
export async function holdOutlet(outlets: Outlets, claim: OutletClaim, clock: Clock): Promise<Held | null> {
  const { name, holder, forMs } = claim
  const lost = new AbortController()
  const over = new AbortController()
  const napping = AbortSignal.any([lost.signal, over.signal])

  const ask = async (asked: OutletClaim): Promise<OutletHold | null> => {
    const askedAt = clock.mono()
    const answer = await outlets.claim(asked)
    ourUntil = askedAt + forMs
    return answer
  }
  let ourUntil = 0
  const hold = await ask(claim)
  if (hold === null) return null

  const renewing = (async () => {
    while (!napping.aborted) {
      await clock.sleep(forMs / 3, napping)
      if (napping.aborted) return
      try {
        // Renewed only, never claimed again: after a reset our cursor is not the outlet's any more.
        if ((await ask({ ...claim, epoch: hold.epoch })) === null) lost.abort()
      } catch (error) {
        // A store that is down cannot give the outlet to another process either, but may have done so by the time it is back.
        if (!isAway(error) || clock.mono() >= ourUntil) lost.abort()
      }
    }
  })()

  return {
    ...hold,
    lost: lost.signal,
    async release() {
      over.abort()
      await renewing
      // Another process gets it when the claim expires.
      await outlets.release(name, holder).catch(() => {})
    },
  }
}
