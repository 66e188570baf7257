import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { frontierContract } from '../contract/frontier-contract.js'
import type { MakeFrontier } from '../contract/frontier-fixtures.js'
import { frontierProperties } from './properties.js'

const makeMemory: MakeFrontier = async (clock) => {
  const frontier = new MemoryFrontier({ clock })
  return { frontier, close: () => frontier.close() }
}

frontierContract('memory', makeMemory)

// Against itself: proves the driver of the properties, and that the model's counters equal a scan whatever happens.
frontierProperties('memory', makeMemory, { runs: 30 })
