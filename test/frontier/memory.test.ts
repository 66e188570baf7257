import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { frontierContract } from '../contract/frontier-contract.js'

frontierContract('memory', async (clock) => {
  const frontier = new MemoryFrontier({ clock })
  return { frontier, close: () => frontier.close() }
})
