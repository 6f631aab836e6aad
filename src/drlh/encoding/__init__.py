"""Images or features → codes, block by block: in threads, in processes or on Ray, restartable, in bounded memory."""
