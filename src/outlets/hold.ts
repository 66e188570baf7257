import type { Clock } from '../clock.js'
import { isAway } from '../errors.js'
import type { OutletClaim, OutletHold, Outlets } from '../store/outlets.js'

export interface Held extends OutletHold {
  /** Aborted when the outlet is not ours any more, or nobody can say that it is. */
  readonly lost: AbortSignal
  /** Lets others have it. */
  release(): Promise<void>
}

/** Takes the outlet and keeps it by renewing the claim three times in its length; null: it is not to be had. */
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
        // Never taken anew: after a reset the cursor in hand is not that of the outlet any more.
        if ((await ask({ ...claim, epoch: hold.epoch })) === null) lost.abort()
      } catch (error) {
        // A store that is away cannot give the outlet to anybody else either, but may have by the time it answers us.
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
      // Whoever waits gets it when the claim has expired.
      await outlets.release(name, holder).catch(() => {})
    },
  }
}
