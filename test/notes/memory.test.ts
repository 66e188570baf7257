import { memoryBoard } from '../../src/notes/memory/memory-notes.js'
import { boardContract } from '../contract/notes-contract.js'
import { boardProperties } from './properties.js'

boardContract('memory', async (clock) => ({ board: memoryBoard({ clock }), close: async () => {} }))
boardProperties('memory', async (clock) => ({ board: memoryBoard({ clock }), close: async () => {} }), 20)
