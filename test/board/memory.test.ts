import { memoryBoard } from '../../src/board/memory/memory-board.js'
import { boardContract } from '../contract/board-contract.js'
import { boardProperties } from './properties.js'

boardContract('memory', async (clock) => ({ board: memoryBoard({ clock }), close: async () => {} }))
boardProperties('memory', async (clock) => ({ board: memoryBoard({ clock }), close: async () => {} }), 20)
