import { ShoalError } from '../../errors.js'

/** For commands, which do not wait for a place that is down. */
export async function dialled<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ShoalError) || error.code !== 'pages_down') throw error
    throw new ShoalError('pages_unreachable', error.message)
  }
}
