import type { Clock } from '../clock.js'
import type { RedisConnection } from './connection.js'
import { list, number } from './replies.js'

/** Clocks of two machines drift apart by a few milliseconds in a minute at most. */
const ASK_AGAIN_MS = 60_000

/** The server's time, extrapolated from the last answer; asked again from time to time, without anybody waiting for it. */
export async function serverClock(connection: Pick<RedisConnection, 'command'>, clock: Clock): Promise<Clock> {
  let asked = { at: 0, mono: 0 }
  let asking = false
  const ask = async () => {
    const before = clock.mono()
    const [seconds, micros] = list(await connection.command(null, ['TIME']))
    const after = clock.mono()
    asked = { at: number(seconds) * 1_000 + Math.round(number(micros) / 1_000), mono: (before + after) / 2 }
  }
  await ask()
  return {
    now() {
      const mono = clock.mono()
      if (!asking && mono - asked.mono > ASK_AGAIN_MS) {
        asking = true
        // While the server is unreachable, its time is extrapolated from the last answer.
        void ask()
          .catch(() => {})
          .finally(() => {
            asking = false
          })
      }
      return Math.round(asked.at + mono - asked.mono)
    },
    mono: () => clock.mono(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, fire) => clock.after(ms, fire),
  }
}
